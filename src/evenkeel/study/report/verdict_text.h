// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

/// The sentences of verdicts. Every mean has its interval or its number of seeds.
namespace evenkeel::study {

/// The sentence of a verdict of `results`, by the kind of its claim:
///   lower, baseline  "validation loss of hybrid_norm is lower than of pre_norm by 0.0123 [0.0041,
///                    0.0205] nats per token (3 seeds, p 0.012, effect 1.9)"
///   equivalent       "validation loss of qkv_pre less that of hybrid_norm: 0.001 [-0.002,
///                    0.004] nats per token (3 seeds); that it is within 0.01: p 0.013"
///   trains, fails    "3 of 3 runs of post_norm failed (95 % interval of the share 0.29 to 1): ..."
///   further          "hybrid_norm trains up to model.layers 32, 32, 64 (seed by seed), post_norm
///                    up to 16, 16, 16; sign test over the seeds: p 0.250, ..."
/// A verdict without a tested difference has the reason instead. The sentence names failed, crashed
/// and missing runs.
std::string sentence(const Results& results, const Verdict& verdict);

/// A line for each value with its arms: "0.001: pre_norm, layers 4; hybrid_norm, layers 4". The
/// names of arms have commas.
std::vector<std::string> confounder_lines(const Confounder& confounder);

}  // namespace evenkeel::study
