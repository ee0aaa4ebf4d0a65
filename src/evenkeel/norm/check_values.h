// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// Evaluates every expression of the scheme as a run would. Formulas of t are evaluated at each
/// step from 0 to `last.done`, at most at 100,000 evenly spaced steps: a run would stop at the
/// first step without a value.
/// \throws SchemeError unknown_variable (`l` outside a block), bad_expression, or bad_value where a
///         number must be positive or a count must fit
void check_values(const Scheme& scheme, const Steps& last = {.done = 1000, .planned = 1000});

/// The start of a message about a scheme: "scheme keel, block 3, attention.input"; no block if `l`
/// is 0.
std::string place_in(const Scheme& scheme, std::int64_t l, const std::string& place);

}  // namespace evenkeel::norm
