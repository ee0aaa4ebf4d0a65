// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A trained number of a scheme outside of norms, and its tensor.
struct LearnedNumber {
  std::string name;  // "embedding_scale", "blocks.0.attention.skip_scale", "blocks.0.damp", ...
  Learned learned;
  std::int64_t size = 1;   // values of the tensor
  std::int64_t block = 0;  // from 1; 0 outside the blocks
};

/// All learned numbers in the order of the forward pass: skip, branch, score and up-gate scales,
/// damp, and the two of a geodesic update (angle_scale, which starts at 1, and angle_bias, at 0).
std::vector<LearnedNumber> learned_numbers_of(const Scheme& scheme);

/// The initial value of the stored parameter: `stored_at`, else the inverse of the transform at the
/// effective value `init`.
/// \throws SchemeError bad_value if the transform does not reach `init`
double stored_initial(const LearnedNumber& number, const Variables& variables);

}  // namespace evenkeel::norm
