// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/claim_analysis.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/max_trainable.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;
using State = SeedRun::State;

/// Differences of the seeds that both arms finished.
std::vector<double> paired_differences(const Arm& arm, const Arm& reference,
                                       const Measure& measure) {
  std::vector<double> out;
  for (std::size_t i = 0; i < arm.seed_runs.size(); ++i) {
    const auto &arm_run = arm.seed_runs[i], &reference_run = reference.seed_runs[i];
    if (arm_run.state != State::finished || reference_run.state != State::finished) continue;
    const double difference =
        measured_value(arm_run.run, measure) - measured_value(reference_run.run, measure);
    if (std::isfinite(difference)) out.push_back(difference);
  }
  return out;
}

/// Why times of these two can't be compared; "" if they can.
std::string contention_reason(const Arm& arm, const Arm& reference) {
  std::int64_t contended = 0, all = 0;
  double most = 0;
  for (const auto* const each : {&arm, &reference}) {
    for (const auto& seed_run : each->seed_runs) {
      if (seed_run.state != State::finished) continue;
      const double contention = seed_run.run.cpu_contention.value_or(0);
      ++all;
      if (contention > CpuContention::kMaxShare) ++contended;
      most = std::max(most, contention);
    }
  }
  if (contended == 0) return "";
  return text("others took up to ", percent(most), " of the processors' time while ", contended,
              " of ", all,
              " runs were timed; remove their folders from the pool, and give the "
              "command again on a quiet machine");
}

/// Whether an arm came to one and the same value under all seeds.
bool is_constant(const Arm& arm, const Measure& measure) {
  std::set<double> values;
  for (const auto& seed_run : arm.seed_runs) {
    if (seed_run.state == State::finished) values.insert(measured_value(seed_run.run, measure));
  }
  return values.size() == 1;
}

bool is_complete(const Arm& arm) {
  return run_count(arm, State::failed) + run_count(arm, State::finished) ==
         static_cast<std::int64_t>(arm.seed_runs.size());
}

/// Why a difference of these two says nothing yet; "" if all runs have finished or failed.
std::string missing_runs_reason(const Arm& arm, const Arm& reference) {
  std::string out;
  for (const auto* const each : {&arm, &reference}) {
    if (!is_complete(*each)) out += text(out.empty() ? "" : " and ", "runs of ", each->name);
  }
  return out.empty() ? "" : out + " are missing, and a verdict waits for all";
}

/// Combines `p`, that of a difference, with Fisher's test of the failures if one arm fails more
/// often.
void combine_with_failures(Verdict& verdict, double& p, const Arm& arm, const Arm& reference) {
  const auto failed = run_count(arm, State::failed),
             reference_failed = run_count(reference, State::failed);
  verdict.is_failure_test = false;
  if (failed == reference_failed) return;
  const auto all = static_cast<std::int64_t>(arm.seed_runs.size());
  const double p_failures = fisher_exact_p(failed, all, reference_failed, all);
  verdict.is_failure_test = !verdict.difference || p_failures < p;
  p = std::min(p, p_failures);
  if (verdict.difference) p = std::min(1.0, 2 * p);
}

/// What the seeds say before any correction: of the differences, of the failures if more runs of
/// one arm failed, and of both if both can be tested, where the smaller p-value counts twice.
Verdict comparison(const Arm& arm, const Arm& reference, const Measure& measure) {
  Verdict verdict{.arm = arm.name, .reference = reference.name};
  const auto differences = paired_differences(arm, reference, measure);
  const bool has_difference = differences.size() >= 2;
  if (has_difference) {
    verdict.difference = paired_test(differences);
    verdict.not_tested_reason = missing_runs_reason(arm, reference);
    if (verdict.not_tested_reason.empty() && measure.kind == Measure::Kind::step_time) {
      verdict.not_tested_reason = contention_reason(arm, reference);
    }
  }
  if (!verdict.not_tested_reason.empty() || !is_complete(arm) || !is_complete(reference))
    return verdict;
  if (has_difference) verdict.p = verdict.difference->p;
  combine_with_failures(verdict, verdict.p, arm, reference);
  return verdict;
}

/// Where the test of failures is significant, the arm that fails less is better; else a difference
/// decides by its sign, unless more runs of the better arm failed.
Outcome outcome_of(const Verdict& verdict, const Arm& arm, const Arm& reference) {
  const auto failed = run_count(arm, State::failed),
             reference_failed = run_count(reference, State::failed);
  if (!verdict.difference &&
      (failed == reference_failed || !is_complete(arm) || !is_complete(reference))) {
    return Outcome::not_measured;
  }
  if (verdict.p >= kSignificanceLevel) return Outcome::inconclusive;
  if (verdict.is_failure_test)
    return failed < reference_failed ? Outcome::supported : Outcome::contradicted;
  if (verdict.difference->mean < 0)
    return failed > reference_failed ? Outcome::inconclusive : Outcome::supported;
  return reference_failed > failed ? Outcome::inconclusive : Outcome::contradicted;
}

Outcome equivalence_outcome(const Verdict& verdict) {
  if (!verdict.difference && !verdict.is_failure_test) return Outcome::not_measured;
  if (verdict.p < kSignificanceLevel) return Outcome::supported;
  return verdict.p_nonequivalence < kSignificanceLevel ? Outcome::contradicted
                                                       : Outcome::inconclusive;
}

/// An arm of a claim and the arm that it is compared with.
struct ArmPair {
  const Arm* arm = nullptr;
  const Arm* reference = nullptr;
  std::string where;
};

std::vector<ArmPair> arm_pairs(const Results& results, const Claim& claim) {
  std::vector<ArmPair> pairs;
  for (const auto& arm : results.arms) {
    if (!matches(arm.labels, claim.of) || !matches(arm.labels, claim.at)) continue;
    const auto rest = remaining_labels(arm.labels, claim.of);
    ArmPair pair{&arm, nullptr, labels_text(results.study, rest)};
    for (const auto& reference : results.arms) {
      if (!claim.than.empty() && matches(reference.labels, claim.than) &&
          remaining_labels(reference.labels, claim.than) == rest) {
        pair.reference = &reference;
      }
    }
    pairs.push_back(pair);
  }
  return pairs;
}

/// Whether more than half of such runs fail, or fewer: by the sign test.
Verdict failure_rate_verdict(const Claim& claim, const Arm& arm) {
  Verdict verdict{.arm = arm.name};
  if (!is_complete(arm)) return verdict;
  const auto failed = run_count(arm, State::failed), finished = run_count(arm, State::finished);
  const bool wants_failure = claim.kind == Claim::Kind::fails;
  verdict.p = sign_test_p(failed, finished);
  verdict.outcome =  // if p allows
      (failed > finished) == wants_failure ? Outcome::supported : Outcome::contradicted;
  return verdict;
}

/// Tests for the kind `equivalent`, in place of that for a difference. They go by how differences
/// scatter: where no seed changes anything, as where no answer is right, there is nothing to go by.
/// Arms of which one fails more often are not alike, whatever those say that finished.
void test_equivalence(Verdict& verdict, const Arm& arm, const Arm& reference, const Claim& claim) {
  verdict.p = verdict.p_nonequivalence = 1;
  if (verdict.not_tested_reason.empty() && verdict.difference && is_constant(arm, claim.measure) &&
      is_constant(reference, claim.measure)) {
    verdict.not_tested_reason =
        "no seed changes what either arm comes to, and runs that do not scatter cannot show that "
        "two arms are alike";
  }
  if (!verdict.not_tested_reason.empty() || !is_complete(arm) || !is_complete(reference)) return;
  const bool fail_equally = run_count(arm, State::failed) == run_count(reference, State::failed);
  if (verdict.difference && fail_equally) verdict.p = tost_p(*verdict.difference, claim.margin);
  if (verdict.difference)
    verdict.p_nonequivalence = nonequivalence_p(*verdict.difference, claim.margin);
  combine_with_failures(verdict, verdict.p_nonequivalence, arm, reference);
}

void test_claims(Results& results) {
  for (std::size_t i = 0; i < results.study.claims.size(); ++i) {
    const auto& claim = results.study.claims[i];
    std::vector<Verdict> verdicts;
    if (claim.kind == Claim::Kind::further) {
      verdicts = max_trainable_verdicts(results, claim);
    } else {
      for (const auto& pair : arm_pairs(results, claim)) {
        Verdict verdict;
        if (pair.reference == nullptr) {
          verdict = failure_rate_verdict(claim, *pair.arm);
        } else {
          verdict = comparison(*pair.arm, *pair.reference, claim.measure);
          if (claim.kind == Claim::Kind::equivalent) {
            test_equivalence(verdict, *pair.arm, *pair.reference, claim);
          }
        }
        verdict.where = pair.where;
        verdicts.push_back(std::move(verdict));
      }
    }
    for (auto& verdict : verdicts) {
      verdict.claim = i;
      results.verdicts.push_back(std::move(verdict));
    }
  }
}

void compare_with_baselines(Results& results) {
  const auto& baseline = results.study.baseline;
  if (baseline.empty()) return;
  for (const auto& arm : results.arms) {
    if (matches(arm.labels, baseline)) continue;
    Selection named;  // the axes of the baseline, with this arm's own values
    for (const auto& [axis, label] : baseline) named[axis] = arm.labels.at(axis);
    const auto rest = remaining_labels(arm.labels, named);
    for (const auto& reference : results.arms) {
      if (!matches(reference.labels, baseline) || remaining_labels(reference.labels, named) != rest)
        continue;
      results.baseline_verdicts.push_back(comparison(arm, reference, results.study.measure));
    }
  }
}

/// Outcome and sentence of a comparison. \param claim  nullptr: with the baseline
void set_outcome(Verdict& verdict, const Arm& arm, const Arm& reference, const Measure& measure,
                 const Claim* claim) {
  if (!verdict.not_tested_reason.empty()) {
    verdict.outcome = Outcome::not_tested;
    verdict.sentence = not_tested_sentence(verdict, arm, reference, measure);
  } else if (claim != nullptr && claim->kind == Claim::Kind::equivalent) {
    verdict.outcome = equivalence_outcome(verdict);
    verdict.sentence = equivalence_sentence(verdict, arm, reference, *claim);
  } else {
    verdict.outcome = outcome_of(verdict, arm, reference);
    verdict.sentence = difference_sentence(verdict, arm, reference, measure);
  }
}

/// Outcomes and sentences, once all p-values are corrected.
void set_outcomes(Results& results) {
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (uses_sign_test(claim)) {
      if (claim.kind != Claim::Kind::further) {
        verdict.sentence = failure_rate_sentence(*find_arm(results, verdict.arm), results.study);
      }
      if (verdict.outcome == Outcome::not_measured) continue;
      verdict.sentence += sign_test_text(verdict) + search_note(results.study);
      if (verdict.p >= kSignificanceLevel) verdict.outcome = Outcome::inconclusive;
      continue;
    }
    const auto* const arm = find_arm(results, verdict.arm);
    const auto* const reference = find_arm(results, verdict.reference);
    EK_ASSERT(arm != nullptr && reference != nullptr);
    set_outcome(verdict, *arm, *reference, claim.measure, &claim);
  }
  for (auto& verdict : results.baseline_verdicts) {
    set_outcome(verdict, *find_arm(results, verdict.arm), *find_arm(results, verdict.reference),
                results.study.measure, nullptr);
  }
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
    results.fits.push_back(std::move(fit));
  }
}

}  // namespace

void analyze_claims(Results& results) {
  results.verdicts.clear();
  results.baseline_verdicts.clear();
  results.fits.clear();
  test_claims(results);
  compare_with_baselines(results);
  correct_p_values(results);
  set_outcomes(results);
  fit_power_laws(results);
}

}  // namespace evenkeel::study
