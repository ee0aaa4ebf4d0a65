// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// The number of parameters of all norms as an expression of the model's sizes, in the syntax of
/// the key `norm_parameters`: "N*(d + 3*dk) + 2*d".
/// \param at_depths  one scheme at two or more depths, in ascending order
/// \return nullopt if the count is not linear in the depth: for example if a patch adds norms to
///         fraction(0, 0.25) of the blocks
std::optional<std::string> count_formula(const std::vector<Scheme>& at_depths);

}  // namespace evenkeel::norm
