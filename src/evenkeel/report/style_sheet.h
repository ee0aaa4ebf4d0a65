// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::report {

/// The style sheet (CSS) of a report: light, dark and print. The colours of the curves can be
/// distinguished with every kind of colour vision.
/// \source Okabe and Ito 2008, "Color universal design" (light; lightened for dark backgrounds)
std::string_view style_sheet();

/// Replaces each `var(--NAME)` by its value, because programs other than browsers do not know CSS
/// variables.
/// \param declarations  CSS: "--ink: #1b1f24; --muted: #5c6570;"; the first of a name counts
/// \return the text; a variable without a declaration stays
std::string without_variables(std::string_view text, std::string_view declarations);

}  // namespace evenkeel::report
