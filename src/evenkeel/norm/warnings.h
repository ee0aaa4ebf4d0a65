// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/validate.h"

namespace evenkeel::norm {

/// All warnings of a scheme that validate() accepts, in the order of their codes.
std::vector<Warning> warnings_of(const Scheme& scheme);

/// The warnings that the scheme does not list as expected; a user should read these.
std::vector<Warning> unexpected_warnings(const Scheme& scheme);

/// Every code that a warning can have, in alphabetical order.
std::vector<std::string> warning_codes();

}  // namespace evenkeel::norm
