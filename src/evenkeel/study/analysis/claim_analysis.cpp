// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/claim_analysis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/comparison.h"
#include "evenkeel/study/analysis/interaction.h"
#include "evenkeel/study/analysis/max_trainable.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/analysis/shrinkage.h"
#include "evenkeel/study/analysis/sweep.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;
using State = SeedRun::State;

/// An arm of a claim and the arm that it is compared with.
struct ArmPair {
  const Arm* arm = nullptr;
  const Arm* reference = nullptr;  // nullptr: the claim is about one arm
  std::string where;               // the labels on the axes that the claim does not name
};

std::vector<ArmPair> arm_pairs(const Study& study, const std::vector<Arm>& arms,
                               const Claim& claim) {
  std::vector<ArmPair> pairs;
  const auto& other = claim.than_at.empty() ? claim.than : claim.than_at;
  for (const auto& arm : arms) {
    if (!matches(arm.labels, claim.of) || !matches(arm.labels, claim.at)) continue;
    const auto rest = remaining_labels(arm.labels, claim.of);
    auto shown = rest;
    if (claim.measure.kind == Measure::Kind::sweep) shown.erase(claim.measure.axis);
    for (const auto& [axis, label] : claim.than_at) shown.erase(axis);
    ArmPair pair{&arm, nullptr, labels_text(study, shown)};
    const auto labels = replaced_labels(arm.labels, other);
    for (const auto& reference : arms) {
      if (!other.empty() && reference.labels == labels) pair.reference = &reference;
    }
    pairs.push_back(pair);
  }
  return pairs;
}

/// Sign test: do more than half of the runs fail, or fewer? The outcome does not consider p yet.
Verdict failure_rate_verdict(const Claim& claim, const Arm& arm) {
  Verdict verdict{.arm = arm.name};
  if (!is_complete(arm)) return verdict;
  const auto failed = run_count(arm, State::failed), finished = run_count(arm, State::finished);
  const bool wants_failure = claim.kind == Claim::Kind::fails;
  verdict.p = sign_test_p(failed, finished);
  verdict.outcome =
      (failed > finished) == wants_failure ? Outcome::supported : Outcome::contradicted;
  return verdict;
}

/// A difference of differences is not tested if a run failed: the remaining seeds are a selection,
/// and a share of failures belongs to one arm alone.
void refuse_failures(Verdict& verdict, const ArmPair& pair) {
  NotTested reason{.kind = NotTested::Kind::failed_runs};
  for (const auto* const arm : {pair.arm, pair.reference}) {
    if (run_count(*arm, State::failed) > 0) reason.arms.push_back(arm->name);
  }
  if (reason.arms.empty()) return;
  verdict.p = verdict.p_nonequivalence = verdict.sign_flip_p = 1;
  verdict.is_failure_test = false;
  if (!verdict.not_tested) verdict.not_tested = std::move(reason);
}

/// The uncorrected verdict of a claim about one arm or one pair of arms.
Verdict pair_verdict(const Study& study, const Claim& claim, const ArmPair& pair) {
  Verdict verdict;
  if (pair.reference == nullptr) {
    verdict = failure_rate_verdict(claim, *pair.arm);
  } else if (claim.kind == Claim::Kind::equivalent) {
    verdict = equivalence_test(study, *pair.arm, *pair.reference, claim);
  } else {
    verdict = comparison(study, *pair.arm, *pair.reference, claim.measure);
  }
  if (!claim.than_at.empty()) refuse_failures(verdict, pair);
  verdict.where = pair.where;
  return verdict;
}

/// The uncorrected verdicts of a claim, one for each place. Keeps arms that are not of the grid.
std::vector<Verdict> claim_verdicts(Results& results, std::size_t index) {
  const auto& claim = results.study.claims[index];
  if (claim.kind == Claim::Kind::further) return max_trainable_verdicts(results, claim);
  std::vector<Verdict> verdicts;
  const auto* arms = &results.arms;
  if (claim.measure.kind == Measure::Kind::sweep) {
    arms = &(results.claim_arms[index] = swept_arms(results, claim.measure));
  }
  if (!claim.than_at.empty()) {
    arms = &(results.claim_arms[index] = difference_arms(results.study, *arms, claim));
  }
  for (const auto& pair : arm_pairs(results.study, *arms, claim)) {
    verdicts.push_back(pair_verdict(results.study, claim, pair));
  }
  return verdicts;
}

void test_claims(Results& results) {
  for (std::size_t i = 0; i < results.study.claims.size(); ++i) {
    for (auto& verdict : claim_verdicts(results, i)) {
      verdict.claim = i;
      results.verdicts.push_back(std::move(verdict));
    }
  }
}

void compare_with_baselines(Results& results) {
  const auto& baseline = results.study.baseline;
  if (baseline.empty()) return;
  const auto& measure = compared_measure(results.study);
  if (measure.kind == Measure::Kind::sweep) results.swept_comparison = swept_arms(results, measure);
  for (const auto& arm : compared_arms(results)) {
    if (matches(arm.labels, baseline)) continue;
    Selection named;  // the axes of the baseline, with this arm's own values
    for (const auto& [axis, label] : baseline) named[axis] = arm.labels.at(axis);
    const auto rest = remaining_labels(arm.labels, named);
    for (const auto& reference : compared_arms(results)) {
      if (!matches(reference.labels, baseline) || remaining_labels(reference.labels, named) != rest)
        continue;
      if (is_of_predictions(measure) && arm.is_causal != reference.is_causal) continue;
      results.baseline_verdicts.push_back(comparison(results.study, arm, reference, measure));
    }
  }
}

/// The outcome of a claim that a sign test decides: `outcome` if p is significant.
void confirm_by_sign_test(Verdict& verdict) {
  if (verdict.outcome == Outcome::not_measured) return;
  if (verdict.p >= kSignificanceLevel) verdict.outcome = Outcome::inconclusive;
}

/// The outcomes, once all p-values are corrected.
void set_outcomes(Results& results) {
  for (auto* const verdicts : {&results.verdicts, &results.baseline_verdicts}) {
    for (auto& verdict : *verdicts) {
      const auto* const claim = claim_of(results, verdict);
      if (claim != nullptr && uses_sign_test(*claim)) {
        confirm_by_sign_test(verdict);
        continue;
      }
      const auto* const arm = find_arm(results, verdict, verdict.arm);
      const auto* const reference = find_arm(results, verdict, verdict.reference);
      EK_ASSERT(arm != nullptr && reference != nullptr);
      const auto& measure = claim == nullptr ? compared_measure(results.study) : claim->measure;
      verdict.outcome = comparison_outcome(verdict, *arm, *reference, claim, measure);
    }
  }
}

/// PowerLawFit::predicted.
std::optional<PowerLawFit::Prediction> predicted_at_largest(const PowerLawFit& fit) {
  const double largest = *std::ranges::max_element(fit.sizes);
  std::vector<double> sizes, values, of_largest;
  for (std::size_t i = 0; i < fit.sizes.size(); ++i) {
    if (fit.sizes[i] == largest) {
      of_largest.push_back(fit.values[i]);
      continue;
    }
    sizes.push_back(fit.sizes[i]);
    values.push_back(fit.values[i]);
  }
  const auto smaller_sizes = std::set(sizes.begin(), sizes.end()).size();
  if (smaller_sizes < 2) return std::nullopt;
  PowerLawFit::Prediction out{.by_smaller = power_law(sizes, values).at(largest),
                              .mean = mean_estimate(of_largest).mean,
                              .interval = {std::nan(""), std::nan("")}};
  // Two sizes are on a line whatever the law is: their residuals say nothing of its error.
  if (smaller_sizes > 2)
    out.interval = prediction_interval(sizes, values, largest, of_largest.size());
  return out;
}

/// The measure against the number of parameters: one fit for each scheme, over the means of its
/// arms.
void fit_power_laws(Results& results) {
  if (results.study.power_law != "parameters") return;
  const auto& leading = results.study.axes.front();
  for (const auto& value : leading.values) {
    PowerLawFit fit{.name = value.label, .sizes = {}, .values = {}, .law = {}};
    for (const auto& arm : results.arms) {
      if (arm.labels.at(leading.name) != value.label) continue;
      auto values = finished_values(arm);
      std::erase_if(values, [](double each) { return !(each > 0); });  // have no logarithm
      if (values.empty()) continue;
      fit.sizes.push_back(static_cast<double>(arm.parameters));
      fit.values.push_back(mean_estimate(values).mean);
    }
    if (std::set(fit.sizes.begin(), fit.sizes.end()).size() < 2) continue;
    fit.law = power_law(fit.sizes, fit.values);
    fit.predicted = predicted_at_largest(fit);
    results.fits.push_back(std::move(fit));
  }
}

}  // namespace

void analyze_claims(Results& results) {
  results.verdicts.clear();
  results.baseline_verdicts.clear();
  results.fits.clear();
  results.claim_arms.clear();
  results.swept_comparison.clear();
  test_claims(results);
  compare_with_baselines(results);
  correct_p_values(results);
  if (results.study.controls_false_discoveries) shrink_differences(results);
  set_outcomes(results);
  fit_power_laws(results);
}

}  // namespace evenkeel::study
