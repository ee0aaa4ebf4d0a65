// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/products_alone.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "evenkeel/kernels/cpu/amx.h"
#include "evenkeel/kernels/cpu/products_amx.h"
#include "evenkeel/ops/cpu.h"
#include "evenkeel/ops/weight_gradient.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// Whether the values of a row lie one after another, and no row above another.
bool has_rows(const Tensor& x) {
  return x.stride(1) == 1 && (x.size(0) <= 1 || x.stride(0) >= x.size(1));
}

bool in_tiles(const Tensor& x) {
#if defined(__x86_64__)
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && x.numel() > 0 && kernels::cpu::has_amx();
#else
  return false;
#endif
}

/// Bytes of a result, of which this thread may make a part, that stay in caches until they are
/// read.
constexpr std::size_t kCached = std::size_t{4} << 20;

Tensor scratch_of(std::int64_t bytes) {
  return at::empty({bytes}, at::kByte);
}

}  // namespace

void multiply_alone(const Tensor& y, const Tensor& x, const Tensor& w) {
#if defined(__x86_64__)
  if (in_tiles(x) && has_rows(x) && has_rows(y) && (has_rows(w) || has_rows(w.t()))) {
    const bool is_straight = has_rows(w);
    const kernels::cpu::RowsProduct of = {.x = cpu::in<at::BFloat16>(x),
                                          .w = cpu::in<at::BFloat16>(w),
                                          .y = cpu::out<at::BFloat16>(y),
                                          .x_stride = x.stride(0),
                                          .w_stride = w.stride(is_straight ? 0 : 1),
                                          .y_stride = y.stride(0),
                                          .count = x.size(0),
                                          .depth = x.size(1),
                                          .width = y.size(1),
                                          .is_straight = is_straight,
                                          .is_far = y.storage().nbytes() > kCached};
    return multiply_rows_amx(of, scratch_of(of.scratch()).mutable_data_ptr());
  }
#endif
  auto out = y;
  at::mm_out(out, x, w);
}

void add_weight_gradient_alone(const Tensor& sum, const Tensor& dy, const Tensor& x,
                               bool is_first) {
#if defined(__x86_64__)
  if (in_tiles(dy) && sum.scalar_type() == at::kFloat && has_rows(sum) && has_rows(dy) &&
      has_rows(x)) {
    const kernels::cpu::WeightGradient of = {.dy = cpu::in<at::BFloat16>(dy),
                                             .x = cpu::in<at::BFloat16>(x),
                                             .sum = sum.mutable_data_ptr<float>(),
                                             .dy_stride = dy.stride(0),
                                             .x_stride = x.stride(0),
                                             .sum_stride = sum.stride(0),
                                             .count = dy.size(0),
                                             .rows = sum.size(0),
                                             .columns = sum.size(1),
                                             .is_first = is_first};
    return add_weight_gradient_amx(of, scratch_of(of.scratch()).mutable_data_ptr());
  }
#endif
  add_weight_gradient(sum, dy, x, is_first);
}

}  // namespace evenkeel::ops
