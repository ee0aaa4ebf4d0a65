// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/analysis/statistics.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;
using State = SeedRun::State;

/// True if times of these arms cannot be compared, because other processes took too much CPU time.
std::optional<NotTested> contention_of(const Arm& arm, const Arm& reference) {
  NotTested out{.kind = NotTested::Kind::cpu_contention};
  for (const auto* const each : {&arm, &reference}) {
    for (const auto& seed_run : each->seed_runs) {
      if (seed_run.state != State::finished) continue;
      const double contention = seed_run.run.cpu_contention.value_or(0);
      ++out.total;
      if (contention > CpuContention::kMaxShare) ++out.contended;
      out.max_share = std::max(out.max_share, contention);
    }
  }
  return out.contended == 0 ? std::nullopt : std::optional(out);
}

/// True if an arm has an equal value under all seeds.
bool is_constant(const Arm& arm, const Measure& measure) {
  std::set<double> values;
  for (const auto& seed_run : arm.seed_runs) {
    if (seed_run.state == State::finished) values.insert(seed_run_value(seed_run, measure));
  }
  return values.size() == 1;
}

/// The mean of the measure over the seeds that have one; -infinity without any.
double mean_of(const Arm& arm, const Measure& measure) {
  std::vector<double> values;
  for (const auto& seed_run : arm.seed_runs) {
    const double value = seed_run_value(seed_run, measure);
    if (std::isfinite(value)) values.push_back(value);
  }
  return values.empty() ? -std::numeric_limits<double>::infinity() : mean_estimate(values).mean;
}

/// True if runs of these arms are missing, so that their difference can still change.
std::optional<NotTested> missing_runs_of(const Arm& arm, const Arm& reference) {
  NotTested out{.kind = NotTested::Kind::missing_runs};
  for (const auto* const each : {&arm, &reference}) {
    if (!is_complete(*each)) out.arms.push_back(each->name);
  }
  return out.arms.empty() ? std::nullopt : std::optional(out);
}

/// The arms whose search has a crashed trial.
std::optional<NotTested> crashed_trials_of(const Arm& arm, const Arm& reference) {
  NotTested out{.kind = NotTested::Kind::crashed_trial};
  for (const auto* const each : {&arm, &reference}) {
    if (each->has_crashed_trial) out.arms.push_back(each->name);
  }
  return out.arms.empty() ? std::nullopt : std::optional(out);
}

/// The number of failed runs that have no value of the measure.
std::int64_t failures_of(const Arm& arm, const Measure& measure) {
  return outlives_failure(measure) ? 0 : run_count(arm, State::failed);
}

/// Combines `p`, that of a difference, with Fisher's test of the failures if one arm fails more
/// often.
void combine_with_failures(Verdict& verdict, double& p, const Arm& arm, const Arm& reference,
                           const Measure& measure) {
  const auto failed = failures_of(arm, measure), reference_failed = failures_of(reference, measure);
  verdict.is_failure_test = false;
  if (failed == reference_failed) return;
  const auto all = static_cast<std::int64_t>(arm.seed_runs.size());
  const double p_failures = fisher_exact_p(failed, all, reference_failed, all);
  if (!verdict.difference) {
    verdict.is_failure_test = true;
    p = p_failures;
    return;
  }
  constexpr double kDifferenceShare = 0.75;  // of the error rate; the rest is that of the failures
  const double of_difference = p / kDifferenceShare;
  const double of_failures = p_failures / (1 - kDifferenceShare);
  verdict.is_failure_test = of_failures < of_difference;
  p = std::min({1.0, of_difference, of_failures});
}

/// True if `failed` of `all` runs are more failures than `other`, beyond what equal arms show in
/// one of five studies.
bool fails_notably_more(std::int64_t failed, std::int64_t other, std::size_t all) {
  constexpr double kNotable = 0.2;
  const auto runs = static_cast<std::int64_t>(all);
  return failed > other && fisher_exact_p(failed, runs, other, runs) < kNotable;
}

/// The outcome of the claim that the measure is lower in `arm`. If the test of failures is
/// significant, the arm that fails less often is better. Else the sign of the difference decides,
/// unless the better arm notably fails more often.
Outcome difference_outcome(const Verdict& verdict, const Arm& arm, const Arm& reference,
                           const Measure& measure) {
  const auto failed = failures_of(arm, measure), reference_failed = failures_of(reference, measure);
  if (!verdict.difference &&
      (failed == reference_failed || !is_complete(arm) || !is_complete(reference))) {
    return Outcome::not_measured;
  }
  if (verdict.p >= kSignificanceLevel) return Outcome::inconclusive;
  if (verdict.is_failure_test)
    return failed < reference_failed ? Outcome::supported : Outcome::contradicted;
  const auto all = arm.seed_runs.size();
  if (verdict.difference->mean < 0) {
    return fails_notably_more(failed, reference_failed, all) ? Outcome::inconclusive
                                                             : Outcome::supported;
  }
  return fails_notably_more(reference_failed, failed, all) ? Outcome::inconclusive
                                                           : Outcome::contradicted;
}

Outcome equivalence_outcome(const Verdict& verdict) {
  if (!verdict.difference && !verdict.is_failure_test) return Outcome::not_measured;
  if (verdict.p < kSignificanceLevel) return Outcome::supported;
  return verdict.p_nonequivalence < kSignificanceLevel ? Outcome::contradicted
                                                       : Outcome::inconclusive;
}

}  // namespace

std::vector<double> paired_differences(const Arm& arm, const Arm& reference,
                                       const Measure& measure) {
  std::vector<double> out;
  for (std::size_t i = 0; i < arm.seed_runs.size(); ++i) {
    const double difference =
        seed_run_value(arm.seed_runs[i], measure) - seed_run_value(reference.seed_runs[i], measure);
    if (std::isfinite(difference)) out.push_back(difference);
  }
  return out;
}

bool has_result(const SeedRun& seed_run) {
  return seed_run.state == State::failed || seed_run.state == State::finished;
}

bool is_complete(const Arm& arm) {
  return std::ranges::all_of(arm.seed_runs, has_result);
}

Verdict comparison(const Study& study, const Arm& arm, const Arm& reference,
                   const Measure& measure) {
  Verdict verdict{.arm = arm.name, .reference = reference.name};
  verdict.not_tested = crashed_trials_of(arm, reference);
  const auto differences = paired_differences(arm, reference, measure);
  if (differences.size() >= 2) {
    verdict.difference = paired_test(
        differences, study.uses_bootstrap ? DifferenceTest::bootstrap : DifferenceTest::student_t);
    if (uses_sign_flips(measure)) verdict.difference->p = verdict.difference->sign_flip_p;
    if (!verdict.not_tested) verdict.not_tested = missing_runs_of(arm, reference);
    if (!verdict.not_tested && measure.kind == Measure::Kind::step_time) {
      verdict.not_tested = contention_of(arm, reference);
    }
  }
  if (verdict.not_tested || !is_complete(arm) || !is_complete(reference)) return verdict;
  if (verdict.difference) {
    verdict.p = verdict.difference->p;
    verdict.sign_flip_p = verdict.difference->sign_flip_p;
  }
  combine_with_failures(verdict, verdict.sign_flip_p, arm, reference, measure);
  // p comes last: is_failure_test says which test p is of.
  combine_with_failures(verdict, verdict.p, arm, reference, measure);
  return verdict;
}

Verdict equivalence_test(const Study& study, const Arm& arm, const Arm& reference,
                         const Claim& claim) {
  auto verdict = comparison(study, arm, reference, claim.measure);
  verdict.p = verdict.p_nonequivalence = 1;
  if (!verdict.not_tested && verdict.difference && is_constant(arm, claim.measure) &&
      is_constant(reference, claim.measure)) {
    verdict.not_tested = NotTested{.kind = NotTested::Kind::zero_variance};
  }
  if (!verdict.not_tested && verdict.difference) {
    const double worse = std::max(mean_of(arm, claim.measure), mean_of(reference, claim.measure));
    if (worse >= claim.competence) {
      verdict.not_tested = NotTested{.kind = NotTested::Kind::incompetent};
    }
  }
  if (verdict.not_tested || !is_complete(arm) || !is_complete(reference)) return verdict;
  const bool fail_equally =
      failures_of(arm, claim.measure) == failures_of(reference, claim.measure);
  if (verdict.difference && fail_equally) verdict.p = tost_p(*verdict.difference, claim.margin);
  if (verdict.difference)
    verdict.p_nonequivalence = nonequivalence_p(*verdict.difference, claim.margin);
  combine_with_failures(verdict, verdict.p_nonequivalence, arm, reference, claim.measure);
  return verdict;
}

Outcome comparison_outcome(const Verdict& verdict, const Arm& arm, const Arm& reference,
                           const Claim* claim, const Measure& measure) {
  if (verdict.not_tested) return Outcome::not_tested;
  const bool is_equivalence = claim != nullptr && claim->kind == Claim::Kind::equivalent;
  return is_equivalence ? equivalence_outcome(verdict)
                        : difference_outcome(verdict, arm, reference, measure);
}

}  // namespace evenkeel::study
