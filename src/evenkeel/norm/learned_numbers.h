// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A trained number of a scheme that is no part of a norm, and the tensor that holds it.
struct LearnedNumber {
  std::string name;  // "embedding_scale", "blocks.0.attention.skip_scale", "blocks.0.damp", ...
  Learned learned;
  std::int64_t size = 1;   // values of the tensor
  std::int64_t block = 0;  // from 1; 0 outside the blocks
};

/// All of them, in the order of the forward pass: factors of rules, scores and products, and the
/// two of a geodesic update (angle_scale, which starts at 1, and angle_bias, at 0).
std::vector<LearnedNumber> learned_numbers_of(const Scheme& scheme);

/// What the parameter behind a learned number starts at: the effective value `init`, taken back
/// through `through`; or `stored_at`.
/// \throws SchemeError (bad_value) for a value that `through` cannot give
double stored_initial(const LearnedNumber& number, const Variables& variables);

}  // namespace evenkeel::norm
