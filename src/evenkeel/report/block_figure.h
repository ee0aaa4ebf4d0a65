// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::report {

/// The figure of a scheme as an inline `<svg>`, coloured by the page's style sheet: each different
/// block once, norms in colours by place. layout: block_picture.h
std::string block_figure(const norm::Scheme& scheme);

/// The same as a file: an SVG document with colours of its own and a white ground.
std::string block_svg(const norm::Scheme& scheme);

/// The CSS rules of the figure, with CSS variables for the colours.
std::string_view block_style();

}  // namespace evenkeel::report
