// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/bf16_product_avx512.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/shared_tasks.h"
#include "evenkeel/ops/linear/bf16_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using kernels::blocks_of;
using kernels::cpu::Bf16Product;

/// Values of x of a task, which stay in the L2 cache.
constexpr std::int64_t kValuesOfATask = 192 * 1024;
/// Terms of a sum that are packed at one time. Even.
constexpr std::int64_t kMostDepth = 4096;
/// Bytes of a result that stay in caches until they are read.
constexpr std::size_t kCachedBytes = std::size_t{8} << 20;
/// Products with fewer multiplications run on the calling thread.
constexpr std::int64_t kSerialMost = 1 << 19;

bool is_matrix_of_bf16(const Tensor& x) {
  return x.dim() == 2 && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !x.is_neg() &&
         x.numel() > 0;
}

/// The tasks of a product: ranges of rows, and of panels of columns where those are fewer than the
/// threads.
struct TaskGrid {
  TaskGrid(const Bf16Product& in, std::int64_t threads) : panels(in.panels()) {
    const auto tiles = blocks_of(in.rows, Bf16Product::kRows);
    const auto most = std::max<std::int64_t>(1, kValuesOfATask / (in.depth * Bf16Product::kRows));
    const auto least = std::max<std::int64_t>(1, most / kSmallestPart);
    begins = cpu::shrinking_tasks(tiles, most, least, threads);
    columns = std::min(panels, blocks_of(threads, rows()));
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(begins.size()) - 1; }
  std::int64_t count() const { return rows() * columns; }

  kernels::cpu::ProductRange rows_of(std::int64_t task, const Bf16Product& in) const {
    const auto place = static_cast<std::size_t>(task / columns);
    return {begins[place] * Bf16Product::kRows,
            std::min(in.rows, begins[place + 1] * Bf16Product::kRows)};
  }
  kernels::cpu::ProductRange panels_of(std::int64_t task) const {
    const auto place = task % columns;
    return {panels * place / columns, panels * (place + 1) / columns};
  }

  static constexpr std::int64_t kSmallestPart = 8;
  std::vector<std::int64_t> begins;  // tiles of rows
  std::int64_t panels = 1, columns = 1;
};

/// \param pairs  for the packed w
void multiply_block(const Bf16Product& in, std::uint32_t* pairs) {
  const auto threads = in.rows * in.columns * in.depth < kSerialMost ? 1 : cpu::thread_count();
  const auto pack = [&](std::int64_t begin, std::int64_t end) {
    for (auto panel = begin; panel < end; ++panel) kernels::cpu::pack_panel(in, panel, pairs);
  };
  threads == 1 ? pack(0, in.panels()) : cpu::parallel_for(0, in.panels(), /*grain=*/1, pack);
  const TaskGrid grid(in, threads);
  cpu::share_tasks(grid.count(), threads, [&](const auto& take) {
    for (auto task = take(); task; task = take()) {
      kernels::cpu::multiply_panels(in, pairs, grid.rows_of(*task, in), grid.panels_of(*task));
    }
  });
}

}  // namespace

bool multiplies_bf16_pairs() {
  return kernels::cpu::has_avx512_bf16() && !kernels::cpu::has_amx();
}

bool uses_bf16_product(const Tensor& y, const Tensor& x, const Tensor& w) {
  return multiplies_bf16_pairs() && is_matrix_of_bf16(y) && is_matrix_of_bf16(x) &&
         is_matrix_of_bf16(w) && y.stride(1) == 1 && x.stride(1) == 1 &&
         (w.stride(0) == 1 || w.stride(1) == 1);
}

void bf16_product_out(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  EK_ASSERT(uses_bf16_product(y, x, w) && x.size(0) == y.size(0) && w.size(0) == x.size(1) &&
            w.size(1) == y.size(1));
  const bool is_transposed = w.stride(1) != 1;
  const Bf16Product whole{.x = cpu::const_data<at::BFloat16>(x),
                          .w = cpu::const_data<at::BFloat16>(w),
                          .y = cpu::mutable_data<at::BFloat16>(y),
                          .x_stride = x.stride(0),
                          .w_stride = w.stride(is_transposed ? 1 : 0),
                          .y_stride = y.stride(0),
                          .rows = y.size(0),
                          .depth = x.size(1),
                          .columns = y.size(1),
                          .is_transposed = is_transposed,
                          .is_added = is_added,
                          .non_temporal = !is_added && y.storage().nbytes() > kCachedBytes};
  auto block = whole;
  block.depth = std::min(whole.depth, kMostDepth);
  const auto packed = at::empty({block.panels() * block.panel_pairs()}, at::kInt);
  auto* const pairs = reinterpret_cast<std::uint32_t*>(packed.mutable_data_ptr<std::int32_t>());
  Tensor sums;
  if (whole.depth > kMostDepth) {
    sums = at::empty({whole.rows, whole.panels() * Bf16Product::kPanel}, at::kFloat);
    block.sums = sums.mutable_data_ptr<float>();
  }
  for (std::int64_t first = 0; first < whole.depth; first += kMostDepth) {
    block.x = whole.x + first;
    block.w = whole.w + first * (is_transposed ? 1 : whole.w_stride);
    block.depth = std::min(kMostDepth, whole.depth - first);
    block.is_first = first == 0;
    block.is_last = first + block.depth == whole.depth;
    multiply_block(block, pairs);
  }
}

}  // namespace evenkeel::ops
