// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A trained number of a scheme that belongs to no norm, and its tensor.
struct LearnedNumber {
  std::string name;  // "embedding_scale", "blocks.0.attention.skip_scale", "blocks.0.damp", ...
  Learned learned;
  std::int64_t size = 1;   // number of values of the tensor
  std::int64_t block = 0;  // from 1; 0: outside the blocks
};

/// All learned numbers in the order of the forward pass: skip, branch, score and up-gate scales,
/// damp, and both numbers of a geodesic update (angle_scale, initially 1, and angle_bias, initially
/// 0).
std::vector<LearnedNumber> learned_numbers_of(const Scheme& scheme);

/// The initial value of the parameter, as stored: `stored_at` if present, else the value that the
/// transform maps to `init`.
/// \throws SchemeError bad_value if the transform maps no value to `init`
double stored_initial(const LearnedNumber& number, const Variables& variables);

}  // namespace evenkeel::norm
