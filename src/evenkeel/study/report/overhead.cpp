// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/overhead.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/number_format.h"

namespace evenkeel::study {

namespace {

/// Times of the finished runs of an arm.
struct Times {
  std::vector<double> milliseconds, tokens_per_second, cpu_contention;
};

Times times_of(const Arm& arm) {
  Times times;
  for (const auto& seed_run : arm.seed_runs) {
    if (seed_run.state != SeedRun::State::finished) continue;
    times.milliseconds.push_back(median_step_milliseconds(seed_run.run));
    times.tokens_per_second.push_back(
        report::median(report::finite_values(seed_run.run.tokens_per_second.y)));
    if (seed_run.run.cpu_contention) times.cpu_contention.push_back(*seed_run.run.cpu_contention);
  }
  return times;
}

std::string overhead_difference_of(const Results& results, const Arm& arm) {
  if (is_baseline(results.study, arm)) return "baseline";
  const auto* const verdict = baseline_verdict(results, arm);
  const bool has_difference = verdict != nullptr && verdict->difference;
  return has_difference ? difference_text(*verdict->difference, results.study.measure) : kNoValue;
}

}  // namespace

ReportTable overhead_table(const Results& results) {
  ReportTable table{{{"arm", Column::Kind::name},
                     {"parameters of norms", Column::Kind::number},
                     {"of all", Column::Kind::number},
                     {"FLOPs of norms", Column::Kind::number},
                     {"as the paper counts", Column::Kind::number},
                     {"ms a step", Column::Kind::number},
                     {"longer than the baseline", Column::Kind::number},
                     {"tokens per second", Column::Kind::number},
                     {"others took", Column::Kind::number}}};
  const auto& measure = results.study.measure;
  if (measure.kind != Measure::Kind::step_time) return table;
  for (const auto& arm : results.arms) {
    const auto [milliseconds, tokens_per_second, cpu_contention] = times_of(arm);
    const auto all = static_cast<double>(arm.parameters);
    const auto most = std::max_element(cpu_contention.begin(), cpu_contention.end());
    table.rows.push_back(
        {{arm.name},
         {with_commas(arm.norm_parameters)},
         {percent(static_cast<double>(arm.norm_parameters) / all)},
         {percent(arm.norms_share)},
         {percent(arm.paper_norms_share)},
         {milliseconds.empty() ? kNoValue
                               : number_text(std::log(report::median(milliseconds)), measure)},
         {overhead_difference_of(results, arm)},
         {tokens_per_second.empty() ? kNoValue
                                    : with_commas(std::llround(report::median(tokens_per_second)))},
         {cpu_contention.empty() ? kNoValue : percent(*most)}});
  }
  table.footnote =
      "FLOPs of norms: 4 for each normalized value, forward, divided by those of matrix products "
      "(with the head) and causal attention. As the paper counts: n / (6 d + s) for n norms a "
      "block. "
      "Times: medians over the logged steps of each run, and over the runs, each with the whole "
      "machine. Others took: the largest share of processor time that other processes took during "
      "a run.";
  return table;
}

}  // namespace evenkeel::study
