// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/report_content.h"

namespace evenkeel::study {

namespace {

/// Failed runs whose value is of a step before the failure.
std::int64_t failed_with_value(const Arm& arm) {
  return std::ranges::count_if(arm.seed_runs, [](const SeedRun& run) {
    return run.state == SeedRun::State::failed && std::isfinite(run.value);
  });
}

/// "3 runs failed later; their value at step 100 counts: post_norm: 3 of 3."; "" without such.
std::string failed_later_text(const Results& results) {
  std::string names;
  std::int64_t all = 0;
  for (const auto* const arm : all_arms(results)) {
    const auto count = failed_with_value(*arm);
    if (count == 0) continue;
    all += count;
    names += text(names.empty() ? "" : "; ", arm->name, ": ", count, " of ", arm->seed_runs.size());
  }
  if (names.empty()) return "";
  return text(all, all == 1 ? " run failed later; its" : " runs failed later; their",
              " value at step ", results.study.measure.step, " counts: ", names, ".");
}

}  // namespace

std::string averaged_runs_text(const Results& results) {
  if (!results.swept_comparison.empty()) return "seeds";
  if (failed_later_text(results).empty()) return "finished runs";
  return text("runs that reached step ", results.study.measure.step, ", failed ones included,");
}

std::string failures_text(const Results& results) {
  std::string names;
  std::int64_t all = 0;
  for (const auto* const each : all_arms(results)) {
    const auto& arm = *each;
    const auto with_value = failed_with_value(arm);
    const auto runs = static_cast<std::int64_t>(arm.seed_runs.size());
    const auto without_value = runs - run_count(arm, SeedRun::State::finished) - with_value;
    if (without_value == 0) continue;
    all += without_value;
    names += text(names.empty() ? "" : "; ", arm.name, ": ", unfinished_runs_text(arm, with_value),
                  " of ", runs);
  }
  auto later = failed_later_text(results);
  if (names.empty()) return later;
  if (!results.swept_comparison.empty()) {
    return text("Not finished: ", names, ". A failed run counts as a loss of ",
                shortest(compared_measure(results.study).cap), ".");
  }
  return text(all, all == 1 ? " run has" : " runs have", " no value and ", all == 1 ? "is" : "are",
              " in no mean: ", names, ".", later.empty() ? "" : " ", later);
}

}  // namespace evenkeel::study
