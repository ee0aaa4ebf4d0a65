// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/few_rows_matmul_amx.h"
#include "evenkeel/kernels/cpu/avx512/few_rows_matmul_avx512.h"
#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/bf16_product.h"
#include "evenkeel/ops/linear/blas_product.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/deterministic_matmul_blocks.h"
#include "evenkeel/ops/linear/float_product.h"
#include "evenkeel/ops/linear/weight_gradient.h"
#include "evenkeel/ops/linear/widened_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// One block of y by LibTorch.
/// \param y, x, w  with a batch axis
void matmul_block(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added,
                  const MatmulBlock& block) {
  const auto b = block.batch;
  auto out = y.select(0, b).narrow(0, block.row, block.rows).narrow(1, block.column, block.columns);
  const auto left = x.select(0, b).narrow(0, block.row, block.rows);
  const auto right = w.select(0, b).narrow(1, block.column, block.columns);
  is_added ? out.addmm_(left, right) : at::mm_out(out, left, right);
}

/// \param y, x, w  with a batch axis
void matmul_in_blocks(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  const auto size = matmul_block_size(y.size(1), y.size(2), x.size(2));
  const auto row_blocks = kernels::blocks_of(y.size(1), size.rows);
  const auto column_blocks = kernels::blocks_of(y.size(2), size.columns);
  const auto blocks = y.size(0) * row_blocks * column_blocks;
  const auto blas = BlasProduct::of(y, x, w, is_added);
  const auto multiply = [&](std::int64_t index) {
    const auto row = index / column_blocks % row_blocks * size.rows;
    const auto column = index % column_blocks * size.columns;
    const MatmulBlock block{.batch = index / (row_blocks * column_blocks),
                            .row = row,
                            .column = column,
                            .rows = std::min(size.rows, y.size(1) - row),
                            .columns = std::min(size.columns, y.size(2) - column)};
    if (!blas || !blas->multiply(block)) matmul_block(y, x, w, is_added, block);
  };
  const auto multiply_all = [&](std::int64_t begin, std::int64_t end) {
    const SerialLibraries one_thread;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;  // of this thread
    for (auto block = begin; block < end; ++block) multiply(block);
  };
  if (blocks == 1) return multiply_all(0, 1);
  cpu::parallel_for(0, blocks, /*grain=*/1, multiply_all);
}

/// Rounds up to whole register tiles of the libraries: then a value mostly has the bits that it has
/// in a product without blocks.
std::int64_t multiple_of_tile(std::int64_t size) {
  constexpr std::int64_t kTile = 32;
  return kernels::blocks_of(size, kTile) * kTile;
}

/// The most rows for which a weight is read in place (docs/decisions/0028).
std::int64_t few_rows_of(at::ScalarType dtype) {
  constexpr std::int64_t kFew = 8, kFewPairs = 32;
  if (dtype != at::kBFloat16) return kFew;
  if (multiplies_bf16_tiles()) return kernels::cpu::kAmxFewRows;
  return multiplies_bf16_pairs() ? kFewPairs : kFew;
}

/// Calls multiply(in, begin, end) for blocks of the columns of y.
/// \param operand  x of `in`
/// \param y, x, w  [n, columns], [n, depth], [depth, columns]
template <typename T, typename X, typename Multiply>
void multiply_few_rows(const Tensor& y, const X* operand, const Tensor& x, const Tensor& w,
                       const Multiply& multiply) {
  const auto rows = x.size(0), depth = x.size(1);
  const kernels::cpu::FewRowsMatmul<cpu::KernelType<T>, X> in{.x = operand,
                                                              .w = cpu::const_data<T>(w),
                                                              .y = cpu::mutable_data<T>(y),
                                                              .rows = rows,
                                                              .depth = depth,
                                                              .w_stride = w.stride(1),
                                                              .y_stride = y.stride(0)};
  // Blocks of 65,536 weights: some ten microseconds, after which another thread may go on.
  constexpr std::int64_t kBlock = 65536;
  const std::int64_t tile = multiplies_bf16_tiles() ? kernels::cpu::kAmxFewColumns : 4;
  const auto columns = std::max(kBlock / std::max<std::int64_t>(depth, 1) / tile * tile, tile);
  cpu::for_each_block(w.size(1), columns, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    multiply(in, begin, end);
  });
}

/// y = x w for few rows of x, by few_rows_matmul().
template <typename T>
void multiply_few_rows(const Tensor& y, const Tensor& x, const Tensor& w) {
  const auto operand = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  auto* const to = operand.mutable_data_ptr<float>();
  const auto depth = x.size(1);
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    kernels::cpu::few_rows_operand(cpu::const_data<T>(x) + row * depth, depth, to + row * depth);
  }
  multiply_few_rows<T>(y, to, x, w, kernels::cpu::few_rows_matmul<cpu::KernelType<T>>);
}

/// The same for bfloat16 with AMX.
void multiply_few_rows_in_tiles(const Tensor& y, const Tensor& x, const Tensor& w) {
  const auto rows = x.size(0), depth = x.size(1);
  const auto operand = at::empty({kernels::cpu::few_rows_amx_pairs(rows, depth)}, at::kInt);
  auto* const pairs = reinterpret_cast<std::uint32_t*>(operand.mutable_data_ptr<std::int32_t>());
  kernels::cpu::few_rows_amx_operand(cpu::const_data<at::BFloat16>(x), rows, depth, pairs);
  multiply_few_rows<at::BFloat16>(y, pairs, x, w, kernels::cpu::few_rows_matmul_amx);
}

void multiply_few_rows(const Tensor& y, const Tensor& x, const Tensor& w) {
  if (x.scalar_type() == at::kFloat) return multiply_few_rows<float>(y, x, w);
  if (multiplies_bf16_tiles() && x.size(0) > kernels::cpu::kMaxSequentialRows) {
    return multiply_few_rows_in_tiles(y, x, w);
  }
  if (!multiplies_bf16_pairs()) return multiply_few_rows<at::BFloat16>(y, x, w);
  multiply_few_rows<at::BFloat16>(y, cpu::const_data<at::BFloat16>(x), x, w,
                                  kernels::cpu::few_rows_matmul_avx512);
}

/// Whether a kernel for few rows computes the product: to pack w takes longer than to read it.
bool reads_weight_in_place(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  const auto dtype = x.scalar_type();
  if (dtype != at::kFloat && dtype != at::kBFloat16) return false;
  return !is_added && x.size(0) <= few_rows_of(dtype) && w.stride(0) == 1 && y.stride(1) == 1 &&
         !w.is_conj() && !w.is_neg();
}

/// Whether x w is the product of a weight gradient, dy^T x, of bfloat16 that the processor
/// multiplies.
bool is_weight_gradient(const Tensor& x, const Tensor& w) {
  return multiplies_bf16_pairs() && x.scalar_type() == at::kBFloat16 && !x.is_neg() &&
         !w.is_neg() && x.numel() > 0 && w.numel() > 0 && is_row_major(x.t()) && is_row_major(w);
}

/// \param y  [rows, columns] of bfloat16, rounded once
void multiply_as_weight_gradient(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  const auto sum = at::empty(y.sizes(), y.options().dtype(at::kFloat));
  add_weight_gradient(sum, x.t(), w, /*is_first=*/true);
  is_added ? y.add_(sum) : y.copy_(sum);
}

void matmul_out_cpu(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  check_matmul_out(y, x, w);
  bump_version(y);
  if (y.dim() == 2 && reads_weight_in_place(y, x, w, is_added)) {
    return multiply_few_rows(y, x.contiguous(), w);
  }
  if (widens_bf16(x)) {
    return matmul_widened(y, x, w, is_added, [&](const auto& sum, const auto& a, const auto& b) {
      matmul_out_cpu(sum, a, b, is_added);
    });
  }
  if (y.dim() == 3) return matmul_in_blocks(y, x, w, is_added);
  if (uses_float_product(y, x, w) || uses_float_product_in_place(y, x, w)) {
    return float_product_out(y, x, w, is_added);
  }
  if (uses_bf16_product(y, x, w)) return bf16_product_out(y, x, w, is_added);
  if (is_weight_gradient(x, w)) return multiply_as_weight_gradient(y, x, w, is_added);
  matmul_in_blocks(y.unsqueeze(0), x.unsqueeze(0), w.unsqueeze(0), is_added);
}

}  // namespace

MatmulBlockSize matmul_block_size(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t kFew = 4;                      // blocks
  constexpr double kSmall = 16e6;                       // floating-point operations of a block
  constexpr std::int64_t kShortest = 32, kLong = 1024;  // sides
  std::int64_t blocks = 1;
  MatmulBlockSize size{std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1)};
  while (true) {
    auto& longer = size.rows >= size.columns ? size.rows : size.columns;
    const auto work = 2 * static_cast<double>(size.rows) * static_cast<double>(size.columns) *
                      static_cast<double>(depth);
    const bool gives_few = blocks < kFew && work > kSmall && longer >= 2 * kShortest;
    if (!gives_few && longer < kLong) return size;
    longer = multiple_of_tile(kernels::blocks_of(longer, 2));
    blocks *= 2;
  }
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("deterministic_matmul_out_", matmul_out_cpu);
}

}  // namespace evenkeel::ops
