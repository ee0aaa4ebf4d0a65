// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/settings_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/config.h"

namespace evenkeel::report {

namespace {

constexpr const char* kScheduleSteps = "schedule.steps";
constexpr const char* kAuto = "auto";

std::int64_t whole_number(const std::string& digits) {
  return std::strtoll(digits.c_str(), nullptr, 10);
}

/// The steps of a run before a change of its length, as train.steps or train.tokens state them; 0
/// if the change does not say.
std::int64_t steps_before(const Run& run, const store::RunChange& change) {
  const auto length = whole_number(change.before);
  if (change.key == "train.steps") return length;
  const auto setting = [&](const char* key) { return whole_number(value_of(run.settings, key)); };
  const double tokens_a_step =
      static_cast<double>(setting("train.batch")) * static_cast<double>(setting("model.context"));
  return tokens_a_step > 0
             ? static_cast<std::int64_t>(std::ceil(static_cast<double>(length) / tokens_a_step))
             : 0;
}

/// True if a run that became longer at this step fixed its schedule to the length so far.
bool keeps_schedule(const Run& run, const store::RunChange& change) {
  if (change.before != text('"', kAuto, '"')) return false;
  return std::any_of(run.changes.begin(), run.changes.end(), [&](const auto& other) {
    return other.step == change.step && store::is_run_length(other.key) &&
           steps_before(run, other) == whole_number(change.after);
  });
}

/// schedule.steps after the resume at a step; of the last one, as run.toml has it.
std::string schedule_after(const Run& run, std::int64_t step) {
  for (const auto& change : run.changes) {
    if (change.key == kScheduleSteps && change.step > step) return change.before;
  }
  return value_of(run.settings, kScheduleSteps);
}

bool affects_weights(const Run& run, const store::RunChange& change) {
  if (config::is_named(change.key, store::free_keys())) return false;
  if (change.key.starts_with("data.ood")) return false;  // only evaluations read this text
  if (change.key == kScheduleSteps) return !keeps_schedule(run, change);
  if (!store::is_run_length(change.key)) return true;
  const auto steps = schedule_after(run, change.step);
  const bool is_auto = steps.empty() || steps == kAuto || steps == text('"', kAuto, '"');
  return is_auto;  // the schedule was computed anew for the new length
}

/// "schedule.peak 0.004 → 0.001"; the key alone if a value is long, such as a scheme.
std::string change_text(const store::RunChange& change) {
  constexpr std::size_t kLongest = 40;
  if (std::max(change.before.size(), change.after.size()) > kLongest) return change.key;
  return text(change.key, ' ', change.before, " → ", change.after);
}

}  // namespace

std::vector<store::RunChange> settings_changes(const Run& run) {
  std::vector<store::RunChange> out;
  std::copy_if(run.changes.begin(), run.changes.end(), std::back_inserter(out),
               [&](const auto& change) { return affects_weights(run, change); });
  return out;
}

std::string settings_changes_text(const Run& run) {
  std::map<std::int64_t, std::string> by_step;
  for (const auto& change : settings_changes(run)) {
    auto& changes = by_step[change.step];
    changes += text(changes.empty() ? "" : ", ", change_text(change));
  }
  std::string out;
  for (const auto& [step, changes] : by_step) {
    out += text(out.empty() ? "" : ", ", "at step ", with_commas(step), " (", changes, ")");
  }
  return out;
}

}  // namespace evenkeel::report
