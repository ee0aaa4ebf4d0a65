// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"

/// Two arms compared seed by seed, before any correction for multiple testing.
namespace evenkeel::study {

/// Whether every seed of an arm has finished or failed.
bool is_complete(const Arm& arm);

/// The paired difference arm - reference over the seeds that both arms finished, and p of "no
/// difference".
///   p = p_t                     equally many failed runs
///   p = p_fisher                fewer than two pairs
///   p = min(1, 2 min(p_t, p_fisher))   otherwise (Bonferroni)
/// p_t is that of paired_test(), p_fisher that of Fisher's exact test of the failed shares. p stays
/// 1 if a run is missing or, for step times, if other processes took CPU time.
Verdict comparison(const Arm& arm, const Arm& reference, const Measure& measure);

/// The same for a claim of the kind `equivalent`: p is that of two one-sided tests (TOST) of
/// |difference| < margin, p_nonequivalence that of |difference| > margin, combined with Fisher's
/// test as above. p stays 1 if one arm has more failed runs. Not tested if each arm has one value
/// under all seeds: equivalence is measured against the scatter of the differences.
Verdict equivalence_test(const Arm& arm, const Arm& reference, const Claim& claim);

/// The outcome of a comparison, once p is corrected.
/// \param claim  nullptr: the comparison with the baseline, which asks whether the arm is lower
Verdict::Outcome comparison_outcome(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                    const Claim* claim);

}  // namespace evenkeel::study
