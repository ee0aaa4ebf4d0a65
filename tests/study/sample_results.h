// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// How large a made-up study is.
struct SampleOptions {
  std::vector<std::string> schemes = {"pre_norm", "hybrid_norm", "post_norm"};
  std::vector<std::string> layers{};  // an axis model.layers if there are any
  std::vector<std::string> peaks{};   // an axis schedule.peak if there are any
  std::vector<std::int64_t> seeds = {1, 2, 3};
  bool has_probes = true;
  bool has_baseline = true;  // pre_norm
};

/// Made-up results, judged: hybrid_norm is about 0.03 lower than pre_norm in every pair, post_norm
/// higher; it fails at 16 layers and more, or from a peak of 0.004 on, or else at the last seed.
/// With a search of schedule.peak where that is no axis; its best for hybrid_norm is at the edge.
Results sample_results(const SampleOptions& options = {});

/// The arm of this name. \throws std::logic_error if there is none
Arm& arm_of(Results& results, const std::string& name);

/// A run of a failed arm: nothing but why.
void fail(SeedRun& seed_run, const std::string& reason);

}  // namespace evenkeel::study
