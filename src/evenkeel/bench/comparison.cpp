// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/json_field.h"

namespace evenkeel::bench {

namespace {

using nlohmann::json;
using nlohmann::literals::operator""_json_pointer;
using report::number;
using report::number_of;
using report::word;

/// The times of one case in one file.
struct CaseTimes {
  std::vector<double> seconds, relative;  // of rounds; relative to the reference, or empty
  std::vector<double> medians;            // of records
  std::string disturbed;
  bool has_rounds = true;
};

/// A field of a record's machine; "" if it has none.
std::string machine_word(const json& record, const char* key) {
  const auto machine = record.find("machine");
  return machine != record.end() && machine->is_object() ? word(*machine, key) : "";
}

/// The positive numbers of a list; empty if there is none.
std::vector<double> numbers_at(const json& record, const json::json_pointer& path) {
  std::vector<double> numbers;
  if (!record.contains(path) || !record[path].is_array()) return numbers;
  for (const auto& each : record[path]) {
    if (const double value = number_of(each); value > 0) numbers.push_back(value);
  }
  return numbers;
}

bool is_of_kernel(const json& record) {
  return word(record, "bench") == "kernels";
}

/// Median seconds; NaN for a record without times.
double median_seconds(const json& record) {
  return number(record, is_of_kernel(record) ? "/seconds/ours/median"_json_pointer
                                             : "/median_seconds"_json_pointer);
}

/// What was timed, and at which size; "" for a record without times.
std::string case_name(const json& record) {
  if (!(median_seconds(record) > 0)) return "";
  const auto bench = word(record, "bench");
  if (bench == "kernels") {
    return text("kernels ", word(record, "op"), ' ', word(record, "pass"), ' ',
                word(record, "dtype"), ' ', word(record, "shape"));
  }
  if (bench != "step" && bench != "peers") return "";
  const double count = number(record, "tokens");
  const auto tokens = with_commas(count > 0 ? std::llround(count) : 0);
  const auto size = text(", ", tokens, " tokens, ", machine_word(record, "precision"));
  if (bench == "peers")
    return text("peers ", word(record, "process"), ", ", word(record, "scheme"), size);
  return text("step ", word(record, "scheme"), ", ",
              with_unit(std::max(0.0, number(record, "flops"))), " FLOPs", size);
}

/// Adds a record to the times of its case.
void add_record(CaseTimes& times, const json& record) {
  const bool is_kernel = is_of_kernel(record);
  const auto seconds = numbers_at(
      record, is_kernel ? "/seconds/ours/rounds"_json_pointer : "/round_seconds"_json_pointer);
  times.medians.push_back(median_seconds(record));
  times.has_rounds = times.has_rounds && !seconds.empty();
  if (const auto note = word(record, "not_judged"); !note.empty()) times.disturbed = note;
  if (is_kernel) {
    const auto probe = numbers_at(record, "/seconds/probe/rounds"_json_pointer);
    for (std::size_t i = 0; i < std::min(probe.size(), seconds.size()); ++i)
      times.relative.push_back(seconds[i] / probe[i]);
  } else if (const double floor = number(record, "floor_seconds"); floor > 0) {
    for (const double each : seconds) times.relative.push_back(each / floor);
  }
  times.seconds.insert(times.seconds.end(), seconds.begin(), seconds.end());
}

/// The fields of a machine on which times depend, for people to read.
std::string machine_of(const json& record) {
  std::string out = machine_word(record, "processor");
  for (const char* const field : {"isa", "gpu"}) {
    if (const auto value = machine_word(record, field); !value.empty()) out += ", " + value;
  }
  return text(out, ", ", machine_word(record, "threads"), " threads");
}

/// The cases of one file, and the machine that they were timed on.
struct FileTimes {
  std::map<std::string, CaseTimes> cases;
  std::string machine;
};

/// \throws Error (data) if no record has times, or they are of several machines
FileTimes times_of(const std::vector<json>& records, const std::string& file) {
  FileTimes times;
  for (const auto& record : records) {
    const auto name = case_name(record);
    if (name.empty()) continue;
    const auto machine = machine_of(record);
    if (times.cases.empty()) times.machine = machine;
    if (machine != times.machine)
      throw Error(Exit::data, text(file, ": must be of one machine, but has times of ",
                                   times.machine, " and of ", machine));
    add_record(times.cases[name], record);
  }
  if (times.cases.empty())
    throw Error(Exit::data, text(file,
                                 ": holds no times that `evenkeel bench kernels`, `step` or "
                                 "`peers` with --out FILE.jsonl wrote"));
  return times;
}

ComparedCase compared(const std::string& name, const CaseTimes& before, const CaseTimes& after) {
  ComparedCase result{.name = name};
  result.before = Timing{"", before.medians}.median();
  result.after = Timing{"", after.medians}.median();
  result.has_rounds = before.has_rounds && after.has_rounds;
  result.disturbed = before.disturbed.empty() ? after.disturbed : before.disturbed;
  const bool is_relative = before.relative.size() == before.seconds.size() &&
                           after.relative.size() == after.seconds.size();
  result.is_relative = result.has_rounds && is_relative;
  if (!result.has_rounds) {
    result.ratio = unpaired_ratio(after.medians, before.medians);
  } else if (is_relative) {
    result.ratio = unpaired_ratio(after.relative, before.relative);
  } else {
    result.ratio = unpaired_ratio(after.seconds, before.seconds);
  }
  return result;
}

}  // namespace

Comparison compare_records(const std::vector<json>& before, const std::vector<json>& after,
                           const std::string& before_name, const std::string& after_name) {
  const auto old_times = times_of(before, before_name), new_times = times_of(after, after_name);
  if (old_times.machine != new_times.machine)
    throw Error(Exit::data, text(after_name, ": is of ", new_times.machine, ", but ", before_name,
                                 " is of ", old_times.machine, "; their times do not compare"));
  Comparison result;
  for (const auto& [name, times] : old_times.cases) {
    const auto found = new_times.cases.find(name);
    if (found == new_times.cases.end()) {
      result.only_before.push_back(name);
    } else {
      result.cases.push_back(compared(name, times, found->second));
    }
  }
  for (const auto& [name, times] : new_times.cases) {
    if (!old_times.cases.contains(name)) result.only_after.push_back(name);
  }
  if (result.cases.empty())
    throw Error(Exit::data,
                text(after_name, ": has no case in common with ", before_name, "; its first is \"",
                     result.only_after.front(), "\", the first of ", before_name, " is \"",
                     result.only_before.front(), "\""));
  std::stable_sort(result.cases.begin(), result.cases.end(),
                   [](const auto& a, const auto& b) { return a.ratio.median > b.ratio.median; });
  return result;
}

}  // namespace evenkeel::bench
