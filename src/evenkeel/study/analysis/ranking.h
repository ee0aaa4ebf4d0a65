// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// How many runs of an arm are in this state.
std::int64_t run_count(const Arm& arm, SeedRun::State state);

/// The arm of this name; nullptr if there is none.
const Arm* find_arm(const Results& results, const std::string& name);

/// The measure of the runs that finished.
std::vector<double> finished_values(const Arm& arm);

/// Their mean; NaN without any.
double mean_value(const Arm& arm);

/// Whether others are compared with it.
bool is_baseline(const Study& study, const Arm& arm);

/// How an arm compares with its baseline; nullptr if it does not.
const Verdict* baseline_verdict(const Results& results, const Arm& arm);

/// The arms from the lowest difference to the highest, a baseline at 0; where nothing can be
/// compared, by their means. Arms without a difference follow, those without any value come last.
std::vector<std::size_t> ranking(const Results& results);

}  // namespace evenkeel::study
