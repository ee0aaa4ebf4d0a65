// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/block_squares.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/portable/block_reduction.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/optim/sum_of_squares.h"

namespace evenkeel::ops {

namespace {

/// The sums of the squares of rows of kBlockValues values. Additions of whole columns: reductions
/// of LibTorch have an order that depends on the number of rows.
/// \param rows  [blocks, kBlockValues]
/// \return [blocks], float64
at::Tensor squares_of_rows(const at::Tensor& rows) {
  auto sums = rows.to(at::kDouble);
  sums = sums * sums;
  for (auto half = kernels::kBlockValues / 2; half > 0; half /= 2) {
    sums.narrow(1, 0, half).add_(sums.narrow(1, half, half));
  }
  return sums.select(1, 0).contiguous();
}

}  // namespace

std::vector<double> block_squares_of_device(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kRows = 32;  // at once: 16 MiB of float64, twice
  const auto whole = x.numel() / kernels::kBlockValues;
  const auto tail = x.numel() % kernels::kBlockValues;
  if (x.numel() == 0) return {};
  std::vector<at::Tensor> sums;
  const auto rows = x.narrow(0, 0, whole * kernels::kBlockValues).view({-1, kernels::kBlockValues});
  for (std::int64_t first = 0; first < whole; first += kRows) {
    sums.push_back(squares_of_rows(rows.narrow(0, first, std::min(kRows, whole - first))));
  }
  if (tail > 0) {
    const auto last = at::zeros({1, kernels::kBlockValues}, x.options());
    last.view({-1}).narrow(0, 0, tail).copy_(x.narrow(0, x.numel() - tail, tail));
    sums.push_back(squares_of_rows(last));
  }
  const auto values = at::cat(sums).cpu();
  const auto* const begin = values.const_data_ptr<double>();
  return {begin, begin + values.numel()};
}

std::vector<double> block_squares(const at::Tensor& x) {
  if (!x.is_cpu()) return block_squares_of_device(x);
  const auto count = x.numel();
  std::vector<double> sums(square_blocks(count));
  const auto one = [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // of this thread
    sums[static_cast<std::size_t>(block)] = sum_of_squares(x.narrow(0, begin, end - begin));
  };
  cpu::for_each_block(count, kernels::kBlockValues, one);
  return sums;
}

std::size_t square_blocks(std::int64_t count) {
  return static_cast<std::size_t>(kernels::blocks_of(count, kernels::kBlockValues));
}

double tree_sum(std::vector<double> sums) {
  if (sums.empty()) return 0;
  kernels::cpu::tree_sum(sums.data(), static_cast<std::int64_t>(sums.size()), 1, 0, 1);
  return sums.front();
}

}  // namespace evenkeel::ops
