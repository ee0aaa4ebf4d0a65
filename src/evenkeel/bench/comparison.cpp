// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::bench {

namespace {

using nlohmann::json;

/// The times of one case in one file.
struct CaseTimes {
  std::vector<double> seconds, relative;  // of rounds; relative to the reference, or empty
  std::vector<double> medians;            // of records
  std::string disturbed;
  bool has_rounds = true;
};

std::string text_at(const json& record, const std::string& pointer) {
  const json::json_pointer at(pointer);
  return record.contains(at) && record[at].is_string() ? record[at].get<std::string>() : "";
}

std::optional<double> number_at(const json& record, const std::string& pointer) {
  const json::json_pointer at(pointer);
  if (!record.contains(at) || !record[at].is_number()) return std::nullopt;
  return record[at].get<double>();
}

/// The positive numbers of a list; empty if there is none.
std::vector<double> numbers_at(const json& record, const std::string& pointer) {
  const json::json_pointer at(pointer);
  std::vector<double> numbers;
  if (!record.contains(at) || !record[at].is_array()) return numbers;
  for (const auto& each : record[at]) {
    if (each.is_number() && each.get<double>() > 0) numbers.push_back(each.get<double>());
  }
  return numbers;
}

bool is_of_kernel(const json& record) {
  return text_at(record, "/bench") == "kernels";
}

/// Median seconds; nullopt for a record without times.
std::optional<double> median_seconds(const json& record) {
  const auto median =
      number_at(record, is_of_kernel(record) ? "/seconds/ours/median" : "/median_seconds");
  return median && *median > 0 ? median : std::nullopt;
}

/// What was timed, and at which size; "" for a record without times.
std::string case_name(const json& record) {
  if (!median_seconds(record)) return "";
  const auto bench = text_at(record, "/bench");
  if (bench == "kernels") {
    return text("kernels ", text_at(record, "/op"), ' ', text_at(record, "/pass"), ' ',
                text_at(record, "/dtype"), ' ', text_at(record, "/shape"));
  }
  if (bench != "step" && bench != "peers") return "";
  const auto size = text(", ", with_commas(std::llround(number_at(record, "/tokens").value_or(0))),
                         " tokens, ", text_at(record, "/machine/precision"));
  if (bench == "peers")
    return text("peers ", text_at(record, "/process"), ", ", text_at(record, "/scheme"), size);
  return text("step ", text_at(record, "/scheme"), ", ",
              with_unit(number_at(record, "/flops").value_or(0)), " FLOPs", size);
}

/// Adds a record to the times of its case.
void add_record(CaseTimes& times, const json& record) {
  const bool is_kernel = is_of_kernel(record);
  const auto seconds = numbers_at(record, is_kernel ? "/seconds/ours/rounds" : "/round_seconds");
  times.medians.push_back(median_seconds(record).value());
  times.has_rounds = times.has_rounds && !seconds.empty();
  if (const auto note = text_at(record, "/not_judged"); !note.empty()) times.disturbed = note;
  if (is_kernel) {
    const auto probe = numbers_at(record, "/seconds/probe/rounds");
    for (std::size_t i = 0; i < std::min(probe.size(), seconds.size()); ++i)
      times.relative.push_back(seconds[i] / probe[i]);
  } else if (const auto floor = number_at(record, "/floor_seconds"); floor && *floor > 0) {
    for (const double each : seconds) times.relative.push_back(each / *floor);
  }
  times.seconds.insert(times.seconds.end(), seconds.begin(), seconds.end());
}

/// The fields of a machine on which times depend, for people to read.
std::string machine_of(const json& record) {
  std::string out = text_at(record, "/machine/processor");
  for (const char* const field : {"/machine/isa", "/machine/gpu"}) {
    if (const auto word = text_at(record, field); !word.empty()) out += ", " + word;
  }
  const auto threads = number_at(record, "/machine/threads").value_or(0);
  return text(out, ", ", std::llround(threads), " threads");
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
