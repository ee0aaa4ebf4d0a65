// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace evenkeel::report {

/// The style sheet (CSS) of a report: light, dark and print. The colours of the curves can be
/// distinguished with every kind of colour vision.
/// \source Okabe and Ito 2008, "Color universal design" (light; lightened for dark backgrounds)
std::string_view style_sheet();

}  // namespace evenkeel::report
