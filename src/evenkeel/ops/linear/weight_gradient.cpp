// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/weight_gradient.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/amx/weight_gradient_amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/weight_gradient_avx512.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/serial_matmul.h"
#include "evenkeel/ops/linear/widened_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// The tensor with rows that one leading dimension (stride) describes; expanded rows are copied.
Tensor as_row_major(const Tensor& x) {
  return is_row_major(x) ? x : x.contiguous();
}

void weight_gradient_check(const Tensor& sum, const Tensor& dy, const Tensor& x) {
  TORCH_CHECK(
      sum.dim() == 2 && dy.dim() == 2 && x.dim() == 2 && dy.sym_size(0) == x.sym_size(0) &&
          sum.sym_size(0) == dy.sym_size(1) && sum.sym_size(1) == x.sym_size(1) &&
          dy.scalar_type() == x.scalar_type() && sum.device() == dy.device() &&
          sum.device() == x.device() &&
          (sum.scalar_type() == dy.scalar_type() ||
           sum.scalar_type() == opmath_dtype(dy.scalar_type())),
      "[add_weight_gradient_] sum must be [rows, columns], dy [n, rows] and x [n, columns] of one "
      "dtype and device, which sum has, too, or float32 for bfloat16; but they are ",
      sum.sym_sizes(), " of ", dtype_name(sum.scalar_type()), ", ", dy.sym_sizes(), " of ",
      dtype_name(dy.scalar_type()), " and ", x.sym_sizes(), " of ", dtype_name(x.scalar_type()),
      " on ", sum.device(), ", ", dy.device(), " and ", x.device());
}

void add_weight_gradient_by_mm(const Tensor& sum, const Tensor& dy, const Tensor& x,
                               bool is_first) {
  weight_gradient_check(sum, dy, x);
  if (sum.scalar_type() != dy.scalar_type() && sum.is_cuda()) {
    bump_version(sum);
    auto out = sum;  // float32 sums of bfloat16 products, in one call of cuBLAS
    is_first ? at::mm_out(out, dy.t(), x, sum.scalar_type())
             : at::addmm_out(out, out, dy.t(), x, sum.scalar_type());
  } else if (sum.scalar_type() != dy.scalar_type() && widens_bf16(dy)) {
    deterministic_matmul_out(sum, widened(dy).t(), widened(x), /*is_added=*/!is_first);
  } else if (sum.scalar_type() != dy.scalar_type()) {
    bump_version(sum);
    const auto product = deterministic_matmul(dy.t(), x);
    is_first ? sum.copy_(product) : sum.add_(product);
  } else {
    deterministic_matmul_out(sum, dy.t(), x, /*is_added=*/!is_first);
  }
}

#if defined(__x86_64__)
using kernels::cpu::WeightGradient;

/// The size of at least `parts` parts, none larger than a block, in whole tiles.
std::int64_t tile_multiple(std::int64_t size, std::int64_t parts) {
  constexpr std::int64_t kMultiple = 32;
  return std::min(WeightGradient::kBlock,
                  kernels::blocks_of(kernels::blocks_of(size, parts), kMultiple) * kMultiple);
}

/// Computes the gradient in parts, one thread each. The values do not depend on the parts.
void add_in_parts(const WeightGradient& whole) {
  const std::int64_t threads = cpu::thread_count();
  const auto blocks = [](std::int64_t size) {
    return kernels::blocks_of(size, WeightGradient::kBlock);
  };
  const auto columns = tile_multiple(whole.columns, blocks(whole.columns));
  const auto column_parts = kernels::blocks_of(whole.columns, columns);
  auto row_parts = blocks(whole.rows);
  while (row_parts * column_parts % threads != 0)
    ++row_parts;  // a multiple of the number of threads
  const auto rows = tile_multiple(whole.rows, row_parts);
  const auto parts = kernels::blocks_of(whole.rows, rows) * column_parts;
  auto* const add_part = kernels::cpu::has_amx() ? kernels::cpu::add_weight_gradient_amx
                                                 : kernels::cpu::add_weight_gradient_avx512;
  cpu::parallel_for(0, parts, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
    const auto scratch = at::empty({WeightGradient::scratch()}, at::kByte);
    for (auto part = begin; part < end; ++part) {
      const auto m = part / column_parts * rows, n = part % column_parts * columns;
      auto args = whole;
      args.dy += m, args.x += n, args.sum += m * args.sum_stride + n;
      args.rows = std::min(rows, whole.rows - m),
      args.columns = std::min(columns, whole.columns - n);
      add_part(args, scratch.mutable_data_ptr());
    }
  });
}
#endif

void add_weight_gradient_cpu(const Tensor& sum, const Tensor& dy_any, const Tensor& x_any,
                             bool is_first) {
  weight_gradient_check(sum, dy_any, x_any);
  const auto dy = as_row_major(dy_any), x = as_row_major(x_any);
#if defined(__x86_64__)
  if (uses_own_weight_gradient(sum, dy) && sum.numel() > 0 && dy.size(0) > 0) {
    bump_version(sum);
    return add_in_parts({.dy = cpu::const_data<at::BFloat16>(dy),
                         .x = cpu::const_data<at::BFloat16>(x),
                         .sum = sum.mutable_data_ptr<float>(),
                         .dy_stride = dy.stride(0),
                         .x_stride = x.stride(0),
                         .sum_stride = sum.stride(0),
                         .count = dy.size(0),
                         .rows = sum.size(0),
                         .columns = sum.size(1),
                         .is_first = is_first});
  }
#endif
  add_weight_gradient_by_mm(sum, dy, x, is_first);
}

void add_weight_gradient_meta(const Tensor& sum, const Tensor& dy, const Tensor& x,
                              bool /*is_first*/) {
  weight_gradient_check(sum, dy, x);
}

}  // namespace

bool uses_own_weight_gradient(const Tensor& sum, const Tensor& dy) {
  const bool has_kernel = kernels::cpu::has_amx() || kernels::cpu::has_avx512_bf16();
  return has_kernel && dy.is_cpu() && dy.scalar_type() == at::kBFloat16 &&
         sum.scalar_type() == at::kFloat && is_row_major(sum);
}

void add_weight_gradient(const Tensor& sum, const Tensor& dy, const Tensor& x, bool is_first) {
  using Op = void(const Tensor&, const Tensor&, const Tensor&, bool);
  static const auto op = registered_operator<Op>("evenkeel::add_weight_gradient_");
  op.call(sum, dy, x, is_first);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("add_weight_gradient_(Tensor(a!) sum, Tensor dy, Tensor x, bool is_first=False) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("add_weight_gradient_", add_weight_gradient_cpu);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("add_weight_gradient_", add_weight_gradient_by_mm);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("add_weight_gradient_", add_weight_gradient_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("add_weight_gradient_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
