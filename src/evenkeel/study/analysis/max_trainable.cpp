// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/max_trainable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;
using State = SeedRun::State;

/// The largest value along an axis up to which every run of a seed trains, by seed; NaN where one
/// of the runs crashed or is missing, -infinity where the first already fails.
std::vector<double> max_trainable_by_seed(const Results& results, const Claim& claim,
                                          const Selection& arms, const Selection& rest) {
  std::vector<std::pair<double, const Arm*>> along;
  for (const auto& arm : results.arms) {
    auto other_labels = remaining_labels(arm.labels, arms);
    const auto label = other_labels[claim.along];
    other_labels.erase(claim.along);
    if (matches(arm.labels, arms) && other_labels == rest)
      along.emplace_back(*number_of(label), &arm);
  }
  std::sort(along.begin(), along.end());
  std::vector<double> max_trainable(results.study.seeds.size(),
                                    -std::numeric_limits<double>::infinity());
  for (std::size_t seed = 0; seed < max_trainable.size(); ++seed) {
    for (const auto& [value, arm] : along) {
      const auto state = arm->seed_runs[seed].state;
      if (state == State::missing || state == State::crashed) max_trainable[seed] = std::nan("");
      if (state != State::finished) break;
      max_trainable[seed] = value;
    }
  }
  return max_trainable;
}

/// Sets p, and the outcome if p is significant, by a sign test over seeds: which arm trains up to a
/// larger value? Sets nothing if the value of a seed is unknown.
void set_sign_test(Verdict& verdict) {
  std::int64_t further = 0, shorter = 0;
  for (std::size_t i = 0; i < verdict.arm_max.size(); ++i) {
    const double arm = verdict.arm_max[i], reference = verdict.reference_max[i];
    if (std::isnan(arm) || std::isnan(reference)) return;
    if (arm > reference) ++further;
    if (arm < reference) ++shorter;
  }
  verdict.p = sign_test_p(further, shorter);
  verdict.outcome = further < shorter ? Outcome::contradicted : Outcome::supported;
}

}  // namespace

std::vector<Verdict> max_trainable_verdicts(const Results& results, const Claim& claim) {
  std::vector<Verdict> out;
  std::set<Selection> seen;
  for (const auto& arm : results.arms) {
    if (!matches(arm.labels, claim.of) || !matches(arm.labels, claim.at)) continue;
    auto rest = remaining_labels(arm.labels, claim.of);
    rest.erase(claim.along);
    if (!seen.insert(rest).second) continue;
    Verdict verdict{.where = labels_text(results.study, rest),
                    .arm = labels_text(results.study, claim.of),
                    .reference = labels_text(results.study, claim.than),
                    .arm_max = max_trainable_by_seed(results, claim, claim.of, rest),
                    .reference_max = max_trainable_by_seed(results, claim, claim.than, rest)};
    set_sign_test(verdict);
    out.push_back(std::move(verdict));
  }
  return out;
}

}  // namespace evenkeel::study
