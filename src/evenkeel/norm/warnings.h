// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/validate.h"

namespace evenkeel::norm {

/// The warnings of a scheme that has a meaning, in the order of their codes.
std::vector<Warning> warnings_of(const Scheme& scheme);

/// Those that the scheme does not list as expected: what a user should hear of.
std::vector<Warning> unexpected_warnings(const Scheme& scheme);

/// Every code that a warning can have, in alphabetical order.
std::vector<std::string> warning_codes();

}  // namespace evenkeel::norm
