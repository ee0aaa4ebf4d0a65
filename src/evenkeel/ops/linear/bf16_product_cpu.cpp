// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/amx/bf16_product_amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/bf16_product_avx512.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/linear/bf16_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using kernels::blocks_of;
using kernels::cpu::Bf16Product;
using kernels::cpu::ProductRange;

/// How a product is split.
struct Sizes {
  std::int64_t rows;    // the rows of a task are a multiple of
  std::int64_t most;    // most rows of a task
  std::int64_t values;  // most values of x of a task, which stay in the L2 cache
  std::int64_t depth;   // most terms of a sum that are packed at one time; even
  std::int64_t panels;  // that are packed together
};
constexpr Sizes kDotSizes = {Bf16Product::kRows, 1 << 20, 192 * 1024, 4096, 1};
constexpr Sizes kAmxSizes = {kernels::cpu::kAmxProductRows, 512, 384 * 1024, 2048, 4};

const Sizes& sizes() {
  return multiplies_bf16_tiles() ? kAmxSizes : kDotSizes;
}

/// Bytes of a result that stay in caches until they are read.
constexpr std::size_t kCachedBytes = std::size_t{8} << 20;
/// Products with fewer multiplications run on the calling thread.
constexpr std::int64_t kSerialMost = 1 << 19;

bool is_matrix_of_bf16(const Tensor& x) {
  return x.dim() == 2 && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !x.is_neg() &&
         x.numel() > 0;
}

/// The parts of y that are tasks.
struct TaskGrid {
  TaskGrid(const Bf16Product& in, std::int64_t threads) {
    const auto tiles = blocks_of(in.rows, sizes().rows);
    const auto most = std::clamp<std::int64_t>(sizes().values / (in.depth * sizes().rows), 1,
                                               sizes().most / sizes().rows);
    rows = blocks_of(tiles, most);
    if (rows % threads != 0) rows = std::min(tiles, blocks_of(rows, threads) * threads);
    columns = std::min(in.panels(), blocks_of(threads, rows));
  }
  std::int64_t rows = 1, columns = 1;

  /// Part `index` of `parts` of [0, count), in steps of `step`.
  static ProductRange part(std::int64_t count, std::int64_t step, std::int64_t index,
                           std::int64_t parts) {
    const auto steps = blocks_of(count, step);
    return {steps * index / parts * step, std::min(count, steps * (index + 1) / parts * step)};
  }
};

template <typename Work>
void run_tasks(std::int64_t count, std::int64_t threads, const Work& work) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) work(i);
  };
  if (threads == 1) return run(0, count);
  cpu::parallel_for(0, count, /*grain=*/1, run);
}

void pack_panels(const Bf16Product& in, const ProductRange& panels, std::uint32_t* pairs) {
  if (multiplies_bf16_tiles()) return kernels::cpu::pack_panels_amx(in, panels, pairs);
  for (auto panel = panels.first; panel < panels.last; ++panel) {
    kernels::cpu::pack_panel(in, panel, pairs);
  }
}

void multiply_packed(const Bf16Product& in, const std::uint32_t* pairs, const ProductRange& rows,
                     const ProductRange& panels) {
  if (!multiplies_bf16_tiles()) return kernels::cpu::multiply_panels(in, pairs, rows, panels);
  const auto bytes = kernels::cpu::amx_product_scratch(in, rows.last - rows.first);
  const auto scratch = at::empty({bytes}, at::kByte);
  kernels::cpu::multiply_panels_amx(in, pairs, rows, panels, scratch.mutable_data_ptr());
}

/// \param pairs  for the packed w
void multiply_block(const Bf16Product& in, std::uint32_t* pairs) {
  const auto threads = in.rows * in.columns * in.depth < kSerialMost ? 1 : cpu::thread_count();
  const auto packs = blocks_of(in.panels(), sizes().panels);
  run_tasks(packs, threads, [&](std::int64_t index) {
    pack_panels(in, TaskGrid::part(in.panels(), sizes().panels, index, packs), pairs);
  });
  const TaskGrid grid(in, threads);
  run_tasks(grid.rows * grid.columns, threads, [&](std::int64_t task) {
    multiply_packed(in, pairs,
                    TaskGrid::part(in.rows, sizes().rows, task / grid.columns, grid.rows),
                    TaskGrid::part(in.panels(), 1, task % grid.columns, grid.columns));
  });
}

}  // namespace

bool multiplies_bf16_pairs() {
  return kernels::cpu::has_avx512_bf16();
}

bool multiplies_bf16_tiles() {
  return multiplies_bf16_pairs() && kernels::cpu::has_amx();
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
  const auto most = sizes().depth;
  block.depth = std::min(whole.depth, most);
  const auto packed = at::empty({block.panels() * block.panel_pairs()}, at::kInt);
  auto* const pairs = reinterpret_cast<std::uint32_t*>(packed.mutable_data_ptr<std::int32_t>());
  Tensor sums;
  if (whole.depth > most) {
    const auto rows = blocks_of(whole.rows, sizes().rows) * sizes().rows;
    sums = at::empty({rows, whole.panels() * Bf16Product::kPanel}, at::kFloat);
    block.sums = sums.mutable_data_ptr<float>();
  }
  for (std::int64_t first = 0; first < whole.depth; first += most) {
    block.x = whole.x + first;
    block.w = whole.w + first * (is_transposed ? 1 : whole.w_stride);
    block.depth = std::min(most, whole.depth - first);
    block.is_first = first == 0;
    block.is_last = first + block.depth == whole.depth;
    multiply_block(block, pairs);
  }
}

}  // namespace evenkeel::ops
