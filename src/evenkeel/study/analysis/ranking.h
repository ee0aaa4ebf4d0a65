// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The number of runs of an arm in this state.
std::int64_t run_count(const Arm& arm, SeedRun::State state);

/// The arm of this name; nullptr if there is none.
const Arm* find_arm(const Results& results, const std::string& name);

/// The arm of this name that a verdict is about: of claims with such, one of Results::claim_arms or
/// of Results::swept_comparison.
const Arm* find_arm(const Results& results, const Verdict& verdict, const std::string& name);

/// The values of the measure, of the runs that have one.
std::vector<double> finished_values(const Arm& arm);

/// The mean of finished_values(); NaN without finished runs.
double mean_value(const Arm& arm);

/// True if `arm` is the baseline of the study.
bool is_baseline(const Study& study, const Arm& arm);

/// The comparison of an arm with its baseline; nullptr if there is none.
const Verdict* baseline_verdict(const Results& results, const Arm& arm);

/// Indices of compared_arms(), sorted by difference from the baseline (baseline: 0), lowest first;
/// by mean if there are no differences. Arms without a difference follow, then those that are not
/// causal, whose losses are not comparable; arms without values are last.
std::vector<std::size_t> ranking(const Results& results);

}  // namespace evenkeel::study
