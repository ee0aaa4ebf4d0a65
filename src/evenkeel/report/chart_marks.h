// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/report/chart_frame.h"

/// The marks of a chart (curves, bands, bars, dots, crosses) as SVG; "" for no marks.
namespace evenkeel::report {

/// The line and its error bounds, downsampled at common indices.
Line downsampled(const Line& line, std::size_t buckets);

/// The CSS classes of colour and dash pattern: "c1 d0".
std::string classes_of(const Line& line);

/// The curve. A point without neighbours becomes a dot.
std::string curve(const Line& line, const Frame& frame);

/// The area from low to high, in the line's colour.
std::string band(const Line& line, const Frame& frame);

/// A bar from low to high through each point. A bar that leaves the frame has no cap there.
std::string bars(const Line& line, const Frame& frame);

/// Whether the line has dots: Stroke::points, or Stroke::dotted with few points.
bool has_dots(const Line& line);

/// A dot with a tooltip at each point, if the line has dots.
std::string dots(const Chart& chart, const Line& line, const Frame& frame);

/// Crosses at the upper edge; crosses at one position are drawn side by side.
std::string crosses(const Chart& chart, const Frame& frame);

/// Vertical lines at the events of a run, with tooltips.
std::string flags(const Chart& chart, const Frame& frame);

/// A horizontal line over the whole width, with its label.
std::string reference_line(const Reference& reference, const Frame& frame);

}  // namespace evenkeel::report
