// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// True if the processor multiplies bfloat16: by vdpbf16ps, or in AMX tiles.
bool multiplies_bf16_pairs();

/// True if that is in AMX tiles.
bool multiplies_bf16_tiles();

/// True if bf16_product_out() computes y (+)= x w: multiplies_bf16_pairs(), bfloat16 matrices on a
/// CPU that are not empty, x and y row-major, w row-major or column-major.
bool uses_bf16_product(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// y = x w or y += x w, rounded once, by kernels::cpu::Bf16Product, in AMX tiles if the processor
/// has them, else by vdpbf16ps. In parallel; on the calling thread inside a parallel region. The
/// bits of a value depend on its row of x and its column of w alone.
/// \param y, x, w  [rows, columns], [rows, depth], [depth, columns]; uses_bf16_product()
void bf16_product_out(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w, bool is_added);

}  // namespace evenkeel::ops
