// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A formula of the number of parameters in all norms, as `norm_parameters` states it:
/// "N*(d + 3*dk) + 2*d".
/// \param at_depths  the same scheme at two or more depths, in rising order
/// \return nothing if the count is no straight line over the depths, as under a patch
///         fraction(0, 0.25) that adds norms
std::optional<std::string> count_formula(const std::vector<Scheme>& at_depths);

}  // namespace evenkeel::norm
