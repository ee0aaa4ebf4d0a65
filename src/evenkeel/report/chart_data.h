// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/chart.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/run.h"

/// The numbers of a page as JSON, for page_script.js and for other programs.
namespace evenkeel::report {

/// The numbers of a chart as `<script type="application/json">`: the plot area, both axes, and all
/// that the picture shows: points, error bounds, dots, reference line, flags, crosses, tick labels.
/// \param lines  of drawable(), downsampled
std::string chart_data(const Chart& chart, const std::vector<Line>& lines, const Frame& frame);

/// Tokens, seconds of training and FLOPs (flops_per_token() * tokens) over the steps of each run,
/// as
/// `<script type="application/json" id="clocks">`. Line::run counts these runs.
std::string clocks_data(const std::vector<const Run*>& runs);

/// A list of numbers as JSON, with six digits; null for NaN.
std::string json_numbers(const std::vector<double>& values);

/// JSON inside a page: `&`, `<` and `>` are escaped, so that no text ends the element.
/// \param attributes  more attributes, with a space before each; may be empty
std::string json_script(const std::string& json, const std::string& attributes = "");

/// A text as a JSON string. Invalid UTF-8 becomes U+FFFD.
std::string json_string(const std::string& content);

}  // namespace evenkeel::report
