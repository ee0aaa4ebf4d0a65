// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::report {

/// A figure as a file of its own.
struct SvgFile {
  std::string name;     // from its title: "validation_loss.svg"
  std::string content;  // light colours, without CSS variables; with title, unit and legend
};

/// The figures of a report as SVG files, for papers and slides. Figures of equal titles get
/// numbers: "loss.svg", "loss_2.svg". A figure without a legend of its own (Chart::has_legend) gets
/// that of the figure above.
/// \param html  figures as figure(), row_figures() and heat_map() write them
std::vector<SvgFile> svg_files(std::string_view html);

}  // namespace evenkeel::report
