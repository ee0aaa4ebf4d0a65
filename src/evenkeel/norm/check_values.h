// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// Evaluates every expression of the scheme, so that an expression without a finite value is found
/// before the run. Expressions of t are evaluated at each step from 0 to `last.done`, or at 100,000
/// evenly spaced steps of a longer run.
/// \throws SchemeError unknown_variable (`l` outside a block), bad_expression, or bad_value (a
///         number that must be positive, a count that does not fit)
void check_values(const Scheme& scheme, const Steps& last = {.done = 1000, .planned = 1000});

/// The prefix of an error message: "scheme keel, block 3, attention.input".
/// \param l  block, from 1; 0: no block, and the message names none
std::string place_in(const Scheme& scheme, std::int64_t l, const std::string& place);

}  // namespace evenkeel::norm
