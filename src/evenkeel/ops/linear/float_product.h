// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// True on a CPU of AMD with AVX2, whose products of float32 are those of this program; others are
/// MKL's.
bool has_float_product();

/// True if float_product_out() computes y (+)= x w: has_float_product(), float32 matrices on the
/// CPU, y row-major, x and w row-major or column-major, no side of 1. The MKL inside LibTorch uses
/// vectors of at most 256 bits there (docs/decisions/0032).
bool uses_float_product(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// True on every processor with AVX-512 for such matrices with few rows of x and contiguous columns
/// of w, as in decoding of a batch: w is read where it lies, where MKL would pack it.
bool uses_float_product_in_place(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// y = x w or y += x w, by the tiles of kernels::cpu::FloatMatmul, in parallel; on the calling
/// thread inside a parallel region. The bits of a value depend on its row of x, its column of w and
/// the instruction set alone.
/// \param y, x, w  [rows, columns], [rows, depth], [depth, columns]; uses_float_product() or
///                 uses_float_product_in_place()
void float_product_out(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w,
                       bool is_added);

/// True if float_product_of_bf16() computes y = x w: has_float_product(), a bfloat16 w [depth,
/// columns] on the CPU whose columns are contiguous, and so few rows of x that w is not packed.
bool uses_float_product_of_bf16(const at::Tensor& x, const at::Tensor& w);

/// float_product_out() of float32 copies of x and w, with the same bits, without a copy of w in
/// memory: a few columns at a time are widened in a cache.
/// \param y, x, w  [rows, columns] in float32, [rows, depth], [depth, columns];
///                 uses_float_product_of_bf16()
void float_product_of_bf16(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w,
                           bool is_added);

}  // namespace evenkeel::ops
