// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// The number of parameters in all norms as a formula of the shape, in the form of the key
/// `norm_parameters`: "N*(d + 3*dk) + 2*d".
/// \param at_depths  one scheme at two or more depths, in rising order
/// \return nothing if the count is not linear in the depth, as under a patch fraction(0, 0.25) that
///         adds norms
std::optional<std::string> count_formula(const std::vector<Scheme>& at_depths);

}  // namespace evenkeel::norm
