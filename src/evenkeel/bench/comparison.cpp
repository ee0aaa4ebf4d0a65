// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

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

/// The times of one record.
struct RunTimes {
  std::vector<double> seconds;    // of rounds
  std::vector<double> reference;  // seconds of the same rounds, or of the run; empty without one
  double median = 0;              // seconds
  std::string disturbed;          // "not_judged"

  bool is_relative() const { return !reference.empty(); }
  /// Of each round: relative to the reference, or seconds.
  std::vector<double> costs(bool is_relative) const {
    if (!is_relative) return seconds;
    std::vector<double> costs;
    costs.reserve(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i)
      costs.push_back(seconds[i] / reference[std::min(i, reference.size() - 1)]);
    return costs;
  }
};

/// A field of a record's machine; "" if it has none.
std::string machine_word(const json& record, const char* key) {
  const auto machine = record.find("machine");
  return machine != record.end() && machine->is_object() ? word(*machine, key) : "";
}

/// A list of positive numbers; empty if it is missing or holds anything else.
std::vector<double> numbers_at(const json& record, const json::json_pointer& path) {
  std::vector<double> numbers;
  if (!record.contains(path) || !record[path].is_array()) return {};
  for (const auto& each : record[path]) {
    const double value = number_of(each);
    if (!(value > 0)) return {};
    numbers.push_back(value);
  }
  return numbers;
}

bool is_of_kernel(const json& record) {
  return word(record, "bench") == "kernels";
}

/// Median seconds; NaN for a record without times, and of `bench ranks`, which has several.
double median_seconds(const json& record) {
  return number(record, is_of_kernel(record) ? "/seconds/ours/median"_json_pointer
                                             : "/median_seconds"_json_pointer);
}

/// A number of a record that counts or measures something; 0 if the record has none.
double amount(const json& record, const char* key) {
  return std::max(0.0, number(record, key));
}

/// What was timed, and at which size; "" for a record without times, and of `bench ranks`.
std::string case_name(const json& record) {
  if (!(median_seconds(record) > 0)) return "";
  const auto bench = word(record, "bench");
  if (bench == "kernels") {
    return text("kernels ", word(record, "op"), ' ', word(record, "pass"), ' ',
                word(record, "dtype"), ' ', word(record, "shape"));
  }
  if (bench == "decode") {
    return text(word(record, "case"), ", batch ", number(record, "batch"), ", weights ",
                word(record, "weights"), ", prompt ", number(record, "prompt"), ", ",
                word(record, "scheme"), ", ",
                with_unit(std::max(0.0, number(record, "parameters"))), " parameters, ",
                machine_word(record, "precision"));
  }
  if (bench != "step" && bench != "peers") return "";
  const double count = number(record, "tokens");
  const auto tokens = with_commas(count > 0 ? std::llround(count) : 0);
  const auto size = text(", ", tokens, " tokens, ", machine_word(record, "precision"));
  if (bench == "peers") {
    return text("peers ", word(record, "process"), ", ", word(record, "scheme"), ", ",
                with_unit(std::max(0.0, number(record, "parameters"))), " parameters", size);
  }
  return text("step ", word(record, "scheme"), ", ",
              with_unit(std::max(0.0, number(record, "flops"))), " FLOPs", size);
}

RunTimes run_times(const json& record) {
  const bool is_kernel = is_of_kernel(record);
  RunTimes run;
  run.seconds = numbers_at(
      record, is_kernel ? "/seconds/ours/rounds"_json_pointer : "/round_seconds"_json_pointer);
  run.median = median_seconds(record);
  run.disturbed = word(record, "not_judged");
  if (is_kernel) {
    run.reference = numbers_at(record, "/seconds/probe/rounds"_json_pointer);
    if (run.reference.size() != run.seconds.size()) run.reference.clear();
  } else if (const double floor = number(record, "floor_seconds"); floor > 0) {
    run.reference = {floor};
  } else if (const double rate = number(record, "copy_bytes_per_second");
             rate > 0 && word(record, "case") == "decode") {
    run.reference = {1 / rate};
  }
  return run;
}

/// The fields of a machine on which times depend, for people to read.
std::string machine_of(const json& record) {
  std::string out = machine_word(record, "processor");
  for (const char* const field : {"isa", "gpu"}) {
    if (const auto value = machine_word(record, field); !value.empty()) out += ", " + value;
  }
  return text(out, ", ", machine_word(record, "threads"), " threads");
}

/// One of the times of a record of `bench ranks`.
struct RankTime {
  const char* what;       // "what" of the record
  const char* key;        // of the time
  const char* reference;  // key of what it is relative to: the engine's time of an equal exchange,
                          // the step alone; "" without one
};
constexpr std::array<RankTime, 5> kRankTimes = {
    {{"exchange", "reduce_scatter", "engine_reduce_scatter"},
     {"exchange", "all_gather", ""},
     {"exchange", "exact", "engine_all_reduce"},
     {"step", "alone", ""},
     {"step", "together", "alone"}}};

/// " on 2 hosts"; "" for one
std::string hosts_text(const json& record) {
  std::set<std::string> hosts;
  for (const auto& each : record.value("hosts", json::array())) {
    if (each.is_string()) hosts.insert(each.get<std::string>());
  }
  return hosts.size() > 1 ? text(" on ", hosts.size(), " hosts") : "";
}

/// "ranks all_gather, 64 KiB, 2 ranks, gloo over lo",
/// "ranks together, pre_norm, 3.0G FLOPs, 2,048 tokens, float32, 2 ranks, gloo over lo"
std::string rank_case_name(const json& record, const RankTime& time) {
  const auto ranks =
      text(amount(record, "ranks"), " ranks", hosts_text(record), ", ", word(record, "network"));
  if (std::string_view(time.what) == "exchange")
    return text("ranks ", time.key, ", ", bytes_text(amount(record, "bytes")), ", ", ranks);
  return text("ranks ", time.key, ", ", word(record, "scheme"), ", ",
              with_unit(amount(record, "flops")), " FLOPs, ",
              with_commas(std::llround(amount(record, "tokens"))), " tokens, ",
              machine_word(record, "precision"), ", ", ranks);
}

RunTimes rank_run_times(const json& record, const RankTime& time) {
  const auto rounds_of = [&](const char* key) {
    return numbers_at(record, json::json_pointer(text("/round_seconds/", key)));
  };
  RunTimes run;
  run.seconds = rounds_of(time.key);
  run.median = number(record, text(time.key, "_seconds").c_str());
  if (*time.reference != '\0') run.reference = rounds_of(time.reference);
  if (run.reference.size() != run.seconds.size()) run.reference.clear();
  return run;
}

/// The times of one record by the names of their cases; empty for a record without times.
std::vector<std::pair<std::string, RunTimes>> cases_of(const json& record) {
  std::vector<std::pair<std::string, RunTimes>> cases;
  if (auto name = case_name(record); !name.empty())
    cases.emplace_back(std::move(name), run_times(record));
  if (word(record, "bench") != "ranks") return cases;
  for (const auto& time : kRankTimes) {
    auto run = rank_run_times(record, time);
    if (word(record, "what") == time.what && run.median > 0)
      cases.emplace_back(rank_case_name(record, time), std::move(run));
  }
  return cases;
}

/// The cases of one file, and the machine that they were timed on.
struct FileTimes {
  std::map<std::string, std::vector<RunTimes>> cases;
  std::string machine;
};

/// \throws Error (data) if no record has times, or they are of several machines
FileTimes times_of(const std::vector<json>& records, const std::string& file) {
  FileTimes times;
  for (const auto& record : records) {
    auto cases = cases_of(record);
    if (cases.empty()) continue;
    const auto machine = machine_of(record);
    if (times.cases.empty()) times.machine = machine;
    if (machine != times.machine)
      throw Error(Exit::data, text(file, ": must be of one machine, but has times of ",
                                   times.machine, " and of ", machine));
    for (auto& [name, run] : cases) times.cases[name].push_back(std::move(run));
  }
  if (times.cases.empty())
    throw Error(Exit::data, text(file,
                                 ": holds no times that `evenkeel bench kernels`, `step`, `peers`, "
                                 "`decode` or `ranks` with --output FILE.jsonl wrote"));
  return times;
}

/// The runs that no other process disturbed; all if there is none.
std::vector<RunTimes> undisturbed(const std::vector<RunTimes>& runs) {
  std::vector<RunTimes> quiet;
  for (const auto& run : runs) {
    if (run.disturbed.empty()) quiet.push_back(run);
  }
  return quiet.empty() ? runs : quiet;
}

template <class Predicate>
bool all_runs(const std::vector<RunTimes>& before, const std::vector<RunTimes>& after,
              const Predicate& predicate) {
  return std::all_of(before.begin(), before.end(), predicate) &&
         std::all_of(after.begin(), after.end(), predicate);
}

/// The observations of one file: a median of each run, or all rounds.
std::vector<double> observations(const std::vector<RunTimes>& runs, Sample sample,
                                 bool is_relative) {
  std::vector<double> all;
  for (const auto& run : runs) {
    const auto costs = run.costs(is_relative);
    if (sample == Sample::runs) {
      all.push_back(Timing{"", costs}.median());
    } else {
      all.insert(all.end(), costs.begin(), costs.end());
    }
  }
  return all;
}

std::vector<double> medians_of(const std::vector<RunTimes>& runs) {
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const auto& run : runs) medians.push_back(run.median);
  return medians;
}

ComparedCase compared(const std::string& name, const std::vector<RunTimes>& all_before,
                      const std::vector<RunTimes>& all_after) {
  constexpr std::size_t kEnoughRuns = 4;  // 4 against 4 have an interval of 95 %
  const auto before = undisturbed(all_before), after = undisturbed(all_after);
  ComparedCase result{.name = name};
  result.before = Timing{"", medians_of(before)}.median();
  result.after = Timing{"", medians_of(after)}.median();
  for (const auto* const runs : {&before, &after}) {
    if (result.disturbed.empty()) result.disturbed = runs->front().disturbed;
  }
  result.has_rounds =
      all_runs(before, after, [](const RunTimes& run) { return !run.seconds.empty(); });
  if (!result.has_rounds) {
    result.ratio = result.of_seconds = unpaired_ratio(medians_of(after), medians_of(before));
    return result;
  }
  result.is_relative =
      all_runs(before, after, [](const RunTimes& run) { return run.is_relative(); });
  if (std::min(before.size(), after.size()) >= kEnoughRuns) result.sample = Sample::runs;
  const auto ratio_of = [&](bool is_relative) {
    return unpaired_ratio(observations(after, result.sample, is_relative),
                          observations(before, result.sample, is_relative));
  };
  result.ratio = ratio_of(result.is_relative);
  result.of_seconds = ratio_of(false);
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
