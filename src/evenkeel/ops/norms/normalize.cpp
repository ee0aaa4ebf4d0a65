// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/normalize.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include "evenkeel/kernels/cpu/portable/row_blas.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::mutable_data;
using NormalizeSignature = void(const Tensor&, std::int64_t);

void check_normalize(const Tensor& w, std::int64_t dim) {
  check_dtype("normalize_", "w", w);
  TORCH_CHECK(w.dim() == 2, "[normalize_] w must be a matrix, but is ", w.sym_sizes());
  TORCH_CHECK(dim == 0 || dim == 1, "[normalize_] dim must be 0 or 1, but is ", dim);
}

void normalize_by_formula(const Tensor& w, std::int64_t dim) {
  check_normalize(w, dim);
  const auto wide = w.to(at::kDouble);
  const auto length = reference::root(wide.square().sum(dim, /*keepdim=*/true));
  w.copy_(wide / at::where(length > 0, length, 1.0));
}

/// 1 / |column|, or 1 for zeros. [columns], float64
template <typename scalar_t>
Tensor inverse_column_lengths(const Tensor& w) {
  const auto width = w.size(1);
  const auto sums = zero_block_sums(w);
  const auto* const from = cpu::const_data<scalar_t>(w);
  auto* const to = mutable_data<double>(sums);
  cpu::for_each_row_of_blocks(w.size(0), [&](std::int64_t row, std::int64_t block) {
    kernels::cpu::add_squares_of_row(from + row * width, to + block * width, width);
  });
  const auto length = cpu::tree_sum(sums).sqrt();
  return at::where(length > 0, 1 / length, 1.0);
}

void normalize_cpu(const Tensor& w, std::int64_t dim) {
  check_normalize(w, dim);
  if (!w.is_contiguous()) {
    const auto values = w.contiguous();
    normalize_cpu(values, dim);
    w.copy_(values);
    return;
  }
  bump_version(w);
  const auto width = w.size(1);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "normalize_", [&] {
    auto* const values = mutable_data<scalar_t>(w);
    if (dim == 1) {
      cpu::for_each_row(w.size(0), [&](std::int64_t row) {
        kernels::cpu::unit_row(values + row * width, width);
      });
      return;
    }
    const auto inverse = inverse_column_lengths<scalar_t>(w);
    const auto* const factors = cpu::const_data<double>(inverse);
    cpu::for_each_row(w.size(0), [&](std::int64_t row) {
      kernels::cpu::scale_columns_of_row(factors, values + row * width, width);
    });
  });
}

}  // namespace

void normalize_(const Tensor& w, std::int64_t dim) {
  static const auto op = registered_operator<NormalizeSignature>("evenkeel::normalize_");
  op.call(w, dim);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("normalize_(Tensor(a!) w, int dim=1) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("normalize_", normalize_cpu);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("normalize_", normalize_by_formula);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("normalize_", check_normalize);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("normalize_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
