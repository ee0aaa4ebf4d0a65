// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "evenkeel/ops/linear/float_product.h"

/// Products of bfloat16 on processors without bfloat16 instructions: those of float32 copies,
/// rounded once. LibTorch emulates the instructions: a step takes 14 to 31 times as long on Zen 3.
namespace evenkeel::ops {

/// True if this processor has neither AMX nor AVX-512 bfloat16.
bool widens_bf16_products();

/// True if x is bfloat16 on such a CPU.
bool widens_bf16(const at::Tensor& x);

/// A float32 copy, with the layout of x.
at::Tensor widened(const at::Tensor& x);

/// y becomes a float32 tensor that compute() writes, or adds to if is_added, rounded once.
template <typename Compute>
void compute_widened(const at::Tensor& y, bool is_added, const Compute& compute) {
  const auto sum = is_added ? widened(y) : at::empty(y.sizes(), y.options().dtype(at::kFloat));
  compute(sum);
  y.copy_(sum);
}

/// y = x w or y += x w by multiply(y, x, w) of float32 copies.
template <typename Multiply>
void multiply_widened(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w, bool is_added,
                      const Multiply& multiply) {
  compute_widened(y, is_added,
                  [&](const at::Tensor& sum) { multiply(sum, widened(x), widened(w)); });
}

/// multiply_widened() where multiply() computes y = x w or y += x w; for few rows of x by
/// float_product_of_bf16(), with the same bits.
template <typename Multiply>
void matmul_widened(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w, bool is_added,
                    const Multiply& multiply) {
  if (y.stride(-1) != 1 || !uses_float_product_of_bf16(x, w)) {
    return multiply_widened(y, x, w, is_added, multiply);
  }
  compute_widened(y, is_added,
                  [&](const at::Tensor& sum) { float_product_of_bf16(sum, x, w, is_added); });
}

}  // namespace evenkeel::ops
