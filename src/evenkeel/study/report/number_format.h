// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

/// Numbers as the reports of a study write them: none without how sure it is. kNoValue is for
/// what is not there.
namespace evenkeel::study {

inline constexpr const char* kNoValue = "–";

/// A value and a difference as reports show them: of times milliseconds and per cent, in place of
/// the logarithms that are compared; anything else as it is.
double display_value(double value, const Measure& measure);
double display_difference(double difference, const Measure& measure);

/// 1.0230 of a loss, 0.003512 of a probe, 20.31 of a time.
std::string number_text(double value, const Measure& measure);

/// "1.0230 [1.0101, 1.0359]" of several runs, "1.0230 (one run)" of one.
std::string mean_text(const std::vector<double>& values, const Measure& measure);

/// "-0.0123 [-0.0205, -0.0041]"
std::string difference_text(const PairedDifference& difference, const Measure& measure);

/// "< 0.001", "0.012"
std::string p_text(double p);

/// Cohen's d with two decimals; "∞" where all seeds differ by the same.
std::string effect_text(double effect_size);

/// "11", "more than 1,000".
std::string required_seeds_text(const Verdict& verdict);

/// "1 failed, 1 missing"; "" if all finished.
std::string unfinished_runs_text(const Arm& arm);

/// "3 of 3", "1 of 3; 1 failed, 1 missing"
std::string finished_runs_text(const Arm& arm);

/// "validation loss, nats per token"
std::string measure_text(const Measure& measure);
std::string difference_measure_text(const Measure& measure);

}  // namespace evenkeel::study
