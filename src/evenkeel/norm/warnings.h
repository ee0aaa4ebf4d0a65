// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/validate.h"

namespace evenkeel::norm {

/// All warnings of a valid scheme, in alphabetical order of their codes.
std::vector<Warning> warnings_of(const Scheme& scheme);

/// The warnings that the scheme file does not list as expected.
std::vector<Warning> unexpected_warnings(const Scheme& scheme);

/// All warning codes, in alphabetical order.
std::vector<std::string> warning_codes();

}  // namespace evenkeel::norm
