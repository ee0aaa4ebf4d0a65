// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

std::int64_t run_count(const Arm& arm, SeedRun::State state) {
  return std::count_if(arm.seed_runs.begin(), arm.seed_runs.end(),
                       [&](const SeedRun& seed_run) { return seed_run.state == state; });
}

std::vector<const Arm*> all_arms(const Results& results) {
  std::vector<const Arm*> out;
  for (const auto* const arms : {&results.arms, &results.further_arms}) {
    for (const auto& arm : *arms) out.push_back(&arm);
  }
  return out;
}

const Claim* claim_of(const Results& results, const Verdict& verdict) {
  return verdict.claim ? &results.study.claims.at(*verdict.claim) : nullptr;
}

namespace {

const Arm* arm_named(const std::vector<Arm>& arms, const std::string& name) {
  const auto found =
      std::find_if(arms.begin(), arms.end(), [&](const Arm& arm) { return arm.name == name; });
  return found == arms.end() ? nullptr : &*found;
}

}  // namespace

const Arm* find_arm(const Results& results, const std::string& name) {
  return arm_named(results.arms, name);
}

const Arm* find_arm(const Results& results, const Verdict& verdict, const std::string& name) {
  if (verdict.claim && results.claim_arms.contains(*verdict.claim)) {
    return arm_named(results.claim_arms.at(*verdict.claim), name);
  }
  if (verdict.claim) return find_arm(results, name);
  return arm_named(compared_arms(results), name);
}

std::vector<double> finished_values(const Arm& arm) {
  std::vector<double> values;
  for (const auto& seed_run : arm.seed_runs) {
    if (std::isfinite(seed_run.value)) values.push_back(seed_run.value);
  }
  return values;
}

double mean_value(const Arm& arm) {
  const auto values = finished_values(arm);
  return values.empty() ? std::nan("") : mean_estimate(values).mean;
}

bool is_baseline(const Study& study, const Arm& arm) {
  return !study.baseline.empty() && matches(arm.labels, study.baseline);
}

const Verdict* baseline_verdict(const Results& results, const Arm& arm) {
  const auto& all = results.baseline_verdicts;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Verdict& verdict) { return verdict.arm == arm.name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::size_t> ranking(const Results& results) {
  const bool compares =
      std::any_of(results.baseline_verdicts.begin(), results.baseline_verdicts.end(),
                  [](const Verdict& verdict) { return verdict.difference.has_value(); });
  enum Tier { compared, measured, not_causal, without };
  const auto& arms = compared_arms(results);
  const auto place = [&](std::size_t at) -> std::pair<Tier, double> {
    const auto& arm = arms[at];
    const auto* const verdict = baseline_verdict(results, arm);
    const double mean = mean_value(arm);
    if (!std::isfinite(mean)) return {without, 0};
    if (!arm.is_causal && is_of_predictions(compared_measure(results.study)))
      return {not_causal, mean};
    if (compares && is_baseline(results.study, arm)) return {compared, 0};
    if (verdict != nullptr && verdict->difference) {
      return {compared, verdict->shrunken.value_or(verdict->difference->mean)};
    }
    return {measured, mean};
  };
  std::vector<std::size_t> order(arms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  return order;
}

}  // namespace evenkeel::study
