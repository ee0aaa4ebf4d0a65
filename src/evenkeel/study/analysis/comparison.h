// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

/// Comparisons of two arms, paired by seed, before any correction for multiple testing.
namespace evenkeel::study {

/// True for a run that has finished or failed.
bool has_result(const SeedRun& seed_run);

/// True if every seed of the arm has finished or failed.
bool is_complete(const Arm& arm);

/// arm - reference, of the seeds for which both arms have a value, in their order.
std::vector<double> paired_differences(const Arm& arm, const Arm& reference,
                                       const Measure& measure);

/// The paired difference arm - reference over the seeds for which both arms have a value. H0: no
/// difference. Failed runs do not count for a measure that outlives_failure().
///   p = p_t                     if both arms have the same number of failed runs
///   p = p_fisher                if there are fewer than two pairs
///   p = min(1, p_t / (3/4), p_fisher / (1/4))   otherwise (weighted Bonferroni)
/// p_t is the p-value of paired_test() by the study's test, p_fisher that of Fisher's exact test of
/// the failure rates. p is 1 if a run is missing or, for step times, if other processes took CPU
/// time. sign_flip_p is p with sign_flip_p() of the differences in the place of p_t. Each of both
/// takes the smaller of its two terms: p can be of the failures where sign_flip_p is not.
Verdict comparison(const Study& study, const Arm& arm, const Arm& reference,
                   const Measure& measure);

/// The test of a claim of kind `equivalent`. p: tost_p(), H0 |difference| >= margin.
/// p_nonequivalence: nonequivalence_p(), H0 |difference| <= margin, combined with Fisher's test as
/// in comparison(). p is 1 if one arm has more failed runs. Not tested if each arm has one value
/// under all seeds: TOST needs a non-zero standard error. Nor if a mean is not below
/// Claim::competence: two arms that fail at the task are alike for no reason of interest.
Verdict equivalence_test(const Study& study, const Arm& arm, const Arm& reference,
                         const Claim& claim);

/// The outcome of a comparison, from its corrected p-values.
/// \param claim    nullptr: comparison with the baseline; supported means that the arm is lower
/// \param measure  what was compared
Verdict::Outcome comparison_outcome(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                    const Claim* claim, const Measure& measure);

}  // namespace evenkeel::study
