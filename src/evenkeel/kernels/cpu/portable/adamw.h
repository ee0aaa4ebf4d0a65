// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/adamw_factors.h"
#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// One AdamW step over `count` values, in the arithmetic of W, in place.
///
/// \tparam W  float or double: weight and moments
/// \tparam G  float, double or Bf16: the gradient
/// \source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
template <typename W, typename G>
void adamw(W* weight, W* first, W* second, const G* gradient, std::int64_t count,
           const AdamwFactors& factors);

/// to = from, rounded to bfloat16.
template <typename W>
void round_to_bf16(const W* from, Bf16* to, std::int64_t count);

/// Where `copy` has other bits than the rounded weight, the weight becomes the value of `copy`.
template <typename W>
void take_over_bf16(const Bf16* copy, W* weight, std::int64_t count);

}  // namespace evenkeel::kernels::cpu
