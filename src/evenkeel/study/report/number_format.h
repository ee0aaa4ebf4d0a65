// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

/// Formats of numbers in the reports of a study. Every mean has an interval or a number of runs.
/// A missing value is kNoValue.
namespace evenkeel::study {

inline constexpr const char* kNoValue = "–";

/// Converts a value and a difference for display: logarithms of step times to ms and per cent; all
/// other measures are unchanged.
double display_value(double value, const Measure& measure);

/// The inverse of display_value().
double value_of_display(double displayed, const Measure& measure);
double display_difference(double difference, const Measure& measure);

/// A value without unit: "1.0230" (loss), "0.003512" (probe), "20.31" (step time, ms).
std::string number_text(double value, const Measure& measure);

/// "1.0230 [1.0101, 1.0359]" of several runs, "1.0230 (one run)" of one.
std::string mean_text(const std::vector<double>& values, const Measure& measure);

/// "-0.0123 [-0.0205, -0.0041]"
std::string difference_text(const PairedDifference& difference, const Measure& measure);

/// "< 0.001", "0.012"
std::string p_text(double p);

/// Cohen's d_z with two decimals; "∞" if all differences are equal.
std::string effect_text(double effect_size);

/// "-0.0098", of a difference without its interval
std::string plain_difference_text(double difference, const Measure& measure);

/// "1 failed, 1 missing"; "" if all finished.
/// \param less_failed  failed runs that are not counted
std::string unfinished_runs_text(const Arm& arm, std::int64_t less_failed = 0);

/// "3 of 3", "1 of 3; 1 failed, 1 missing"
std::string finished_runs_text(const Arm& arm);

/// "validation loss, nats per token"
std::string measure_text(const Measure& measure);
std::string difference_measure_text(const Measure& measure);

}  // namespace evenkeel::study
