// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/report/chart_frame.h"

/// What stands for the values of a chart, as SVG; "" where there is nothing to draw.
namespace evenkeel::report {

/// The line with what lies around it, downsampled together.
Line downsampled(const Line& line, std::size_t buckets);

/// The classes of colour and pattern: "c1 d0".
std::string classes_of(const Line& line);

/// The curve. A point without neighbours becomes a dot.
std::string curve(const Line& line, const Frame& frame);

/// The area from low to high, in the line's colour.
std::string band(const Line& line, const Frame& frame);

/// A bar from low to high through each point. One that leaves the frame has no end there.
std::string bars(const Line& line, const Frame& frame);

/// Few points are marked, and say their value when pointed at.
std::string dots(const Chart& chart, const Line& line, const Frame& frame);

/// Crosses at the upper edge; those at the same place stand side by side.
std::string crosses(const Chart& chart, const Frame& frame);

std::string reference_line(const Reference& reference, const Frame& frame);

}  // namespace evenkeel::report
