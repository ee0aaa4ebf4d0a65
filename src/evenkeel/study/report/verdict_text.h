// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/analysis/statistics.h"

/// Verdicts in words: never a bare mean.
namespace evenkeel::study {

std::int64_t run_count(const Arm& arm, SeedRun::State state);

/// "hybrid_norm is lower than pre_norm by 0.0123 [0.0041, 0.0205] nats a token (3 seeds, p 0.012,
/// effect 1.9)", or that the result is inconclusive with 3 seeds; 11 seeds would be needed for
/// a difference of this size", and what failed.
std::string difference_sentence(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                const Measure& measure);

/// Of a claim of the kind `equivalent`: "validation loss of qkv_pre less that of hybrid_norm: 0.001
/// [-0.002, 0.004] nats a token (3 seeds); that it is within 0.01: p 0.013"
std::string equivalence_sentence(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                 const Claim& claim);

/// Of a comparison that was not tested: "time of a step of hybrid_norm less that of pre_norm: 1.2
/// [0.4, 2.1] % (8 seeds); not judged: others took up to 34 % of the processors' time ..."
std::string not_tested_sentence(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                const Measure& measure);

/// "post_norm: 3 of 3 runs failed (share 0.29 to 1; diverged at step 120, ...)"
std::string failure_rate_sentence(const Arm& arm, const Study& study);

/// "hybrid_norm trains up to layers 32, 32, 64 (seed by seed), post_norm up to 16, 16, 16"
std::string max_trainable_sentence(const Claim& claim, const Verdict& verdict,
                                   const std::vector<double>& arm_values,
                                   const std::vector<double>& reference_values);

/// That a search has looked for what trains; "" without one.
std::string search_note(const Study& study);

/// What its p-value adds: "; sign test over the seeds: p 0.250, 6 seeds that all agree would tell"
std::string sign_test_text(const Verdict& verdict);

}  // namespace evenkeel::study
