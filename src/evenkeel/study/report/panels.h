// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/report/page_parts.h"
#include "evenkeel/study/analysis/results.h"

/// Which arms a chart shows, so that it stays readable.
namespace evenkeel::study {

/// One curve of a chart: the arms that it goes through, and its style.
struct CurveSpec {
  std::string name;
  std::vector<std::size_t> arms;
  report::LineStyle style;
};

/// One chart.
struct Panel {
  std::string where;  // what its arms have in common: "layers 16"; "" if it is the only one
  std::string note;   // which arms are left out; may be empty
  std::vector<CurveSpec> curve_specs;
};

inline constexpr std::size_t kMaxCurves = 8;

/// Up to 8 curves share a chart. More are spread over one chart for each combination of the axes
/// behind the first, if these are no more than `most`; of what is still too many the 4 best, the
/// baseline and the 3 worst are shown.
/// \param along  the axis that curves go along; "": each arm has a curve
std::vector<Panel> panels(const Results& results, const std::string& along, std::size_t most);

}  // namespace evenkeel::study
