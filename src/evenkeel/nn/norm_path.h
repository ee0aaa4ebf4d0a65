// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// The operator that does a whole norm on the CPU, where kernels.fused is on; `formula`: there is
/// none, and the steps of ops/reference.h run and are saved.
enum class NormPath {
  rms_norm,
  layer_norm,
  row_norm,
  affine,
  column_norm,
  bounded,
  seed_norm,
  formula
};

/// What NormLayer runs, and what footprint() counts.
/// \param heads  vectors that a norm of scope head sees apart; 1 for scope token
NormPath path_of(const norm::Norm& norm, std::int64_t heads);

/// Whether qkv_norm_rope() has the norm: one of every head, with one gain for all of them.
bool has_fused_head_norm(const norm::Norm& norm, std::int64_t heads);

}  // namespace evenkeel::nn
