// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// Computes every expression of the scheme as a run would: those of the step at every step from 0
/// to `last` (of more than 100,000 steps at so many of them), since a run would die of the first
/// that has no value.
/// \throws SchemeError unknown_variable (`l` outside a block), bad_expression, or bad_value where a
///         number must be positive or a count must fit
void check_values(const Scheme& scheme, const Steps& last = {.done = 1000, .planned = 1000});

/// Where a message points: "scheme keel, block 3, attention.input"; no block if `l` is 0.
std::string place_in(const Scheme& scheme, std::int64_t l, const std::string& place);

}  // namespace evenkeel::norm
