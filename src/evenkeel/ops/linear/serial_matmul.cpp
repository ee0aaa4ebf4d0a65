// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/serial_matmul.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "evenkeel/base/error.h"
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

}  // namespace

void serial_matmul_out(const Tensor& y, const Tensor& x, const Tensor& w) {
  EK_ASSERT(x.dim() == 2 && y.dim() == 2 && y.size(0) == x.size(0) &&
            is_matrix(w, x.size(1), y.size(1)) && x.scalar_type() == w.scalar_type() &&
            y.scalar_type() == w.scalar_type());
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
