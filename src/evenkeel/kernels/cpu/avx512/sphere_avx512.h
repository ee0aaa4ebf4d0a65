// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/portable/sphere.h"

namespace evenkeel::kernels::cpu {

/// The steps of sphere.h from row to row, for bfloat16 where has_avx512_bf16(), in float32. They
/// refuse on other processors, and if a value leaves the safe range of float32 (row_common.h), or
/// the step ends near the centre of the sphere, where float32 would keep few digits.
/// After a refusal results may be partly written, and no gradient has changed: the caller then
/// computes in double.

/// \return false: refused
bool sphere_step_row_avx512(const Bf16* start, const Bf16* towards, const double* step, Bf16* y,
                            std::int64_t width);

/// \return false: refused
bool sphere_step_row_backward_avx512(const SphereGradient<Bf16>& row, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
