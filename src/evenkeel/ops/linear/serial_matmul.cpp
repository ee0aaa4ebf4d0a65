// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/serial_matmul.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/amx/gemm_amx.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/linear/bf16_product.h"
#include "evenkeel/ops/linear/float_product.h"
#include "evenkeel/ops/linear/weight_gradient.h"
#include "evenkeel/ops/linear/widened_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

bool is_matrix(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  return x.dim() == 2 && x.size(0) == rows && x.size(1) == columns;
}

/// oneDNN compiles and caches a kernel for every number of rows of bfloat16; padding with rows of
/// zeros keeps these numbers few.
Tensor zero_padded_rows(const Tensor& x) {
  constexpr std::int64_t kMultiple = 128;
  const auto rows = x.size(0);
  const auto all = (rows + kMultiple - 1) / kMultiple * kMultiple;
  if (x.scalar_type() != at::kBFloat16 || all == rows) return x;
  auto padded = at::zeros({all, x.size(1)}, x.options());
  padded.narrow(0, 0, rows).copy_(x);
  return padded;
}

#if defined(__x86_64__)
/// Bytes of a result, of which this thread may compute a part, that stay in caches until they are
/// read.
constexpr std::size_t kCacheBytes = std::size_t{4} << 20;

Tensor scratch_buffer(std::int64_t bytes) {
  return at::empty({bytes}, at::kByte);
}
#endif

}  // namespace

bool uses_amx_gemm(const Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && kernels::cpu::has_amx();
}

void serial_matmul_out(const Tensor& y, const Tensor& x, const Tensor& w) {
  EK_ASSERT(x.dim() == 2 && y.dim() == 2 && y.size(0) == x.size(0) &&
            is_matrix(w, x.size(1), y.size(1)) && x.scalar_type() == w.scalar_type() &&
            y.scalar_type() == w.scalar_type());
#if defined(__x86_64__)
  if (uses_amx_gemm(x) && x.numel() > 0 && y.numel() > 0 && is_row_major(x) && is_row_major(y) &&
      (is_row_major(w) || is_row_major(w.t()))) {
    const bool no_transpose = is_row_major(w);
    const kernels::cpu::GemmArguments args = {.x = cpu::const_data<at::BFloat16>(x),
                                              .w = cpu::const_data<at::BFloat16>(w),
                                              .y = cpu::mutable_data<at::BFloat16>(y),
                                              .x_stride = x.stride(0),
                                              .w_stride = w.stride(no_transpose ? 0 : 1),
                                              .y_stride = y.stride(0),
                                              .count = x.size(0),
                                              .depth = x.size(1),
                                              .width = y.size(1),
                                              .no_transpose = no_transpose,
                                              .non_temporal = y.storage().nbytes() > kCacheBytes};
    return gemm_amx(args, scratch_buffer(args.scratch()).mutable_data_ptr());
  }
#endif
  if (uses_float_product(y, x, w)) return float_product_out(y, x, w, /*is_added=*/false);
  if (uses_bf16_product(y, x, w)) return bf16_product_out(y, x, w, /*is_added=*/false);
  const SerialLibraries one_thread;
  if (widens_bf16(x)) {
    return matmul_widened(y, x, w, /*is_added=*/false, serial_matmul_out);
  }
  const auto rows = zero_padded_rows(x);
  if (rows.is_same(x)) {
    auto out = y;
    at::mm_out(out, x, w);
  } else {
    y.copy_(at::mm(rows, w).narrow(0, 0, x.size(0)));
  }
}

void serial_add_weight_gradient(const Tensor& sum, const Tensor& dy, const Tensor& x,
                                bool is_first) {
  EK_ASSERT(dy.dim() == 2 && x.dim() == 2 && dy.size(0) == x.size(0) &&
            is_matrix(sum, dy.size(1), x.size(1)) && dy.scalar_type() == x.scalar_type());
  if (uses_float_product(sum, dy.t(), x)) return float_product_out(sum, dy.t(), x, !is_first);
  const SerialLibraries one_thread;
  if (uses_own_weight_gradient(sum, dy)) return add_weight_gradient(sum, dy, x, is_first);
  if (widens_bf16(sum)) {
    return multiply_widened(sum, dy, x, !is_first,
                            [&](const auto& to, const auto& a, const auto& b) {
                              serial_add_weight_gradient(to, a, b, is_first);
                            });
  }
  if (widens_bf16(dy)) return serial_add_weight_gradient(sum, widened(dy), widened(x), is_first);
  auto out = sum;
  if (sum.scalar_type() != dy.scalar_type()) {
    const auto product = at::mm(zero_padded_rows(dy).t(), zero_padded_rows(x));
    is_first ? out.copy_(product) : out.add_(product);
  } else if (is_first) {
    at::mm_out(out, zero_padded_rows(dy).t(), zero_padded_rows(x));
  } else {
    out.addmm_(zero_padded_rows(dy).t(), zero_padded_rows(x));
  }
}

}  // namespace evenkeel::ops
