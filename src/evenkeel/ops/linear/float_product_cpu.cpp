// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include <algorithm>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/float_matmul.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/linear/float_product.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using kernels::blocks_of;
using kernels::cpu::FloatMatmul;
using kernels::cpu::kMatmulDepth;
using kernels::cpu::MatmulTerms;
using kernels::cpu::TileRange;

/// Terms of the sums whose shared operand is packed at one time: 12 MB for 768 columns.
constexpr std::int64_t kPackedTerms = 4 * kMatmulDepth;
/// Rows of x for which w is not packed.
constexpr std::int64_t kRowsInPlace = 256;
/// Rows of x for which this takes less time than MKL with AVX-512 (docs/decisions/0028).
constexpr std::int64_t kRowsWithAvx512 = 32;
/// Products with fewer multiplications run on the calling thread.
constexpr std::int64_t kSmall = 1 << 18;

bool is_matrix_of_floats(const Tensor& x) {
  return x.dim() == 2 && x.is_cpu() && x.scalar_type() == at::kFloat && !x.is_neg() &&
         x.size(0) > 1 && x.size(1) > 1;
}

/// Float32 matrices on the CPU: y row-major, x and w row-major or column-major.
bool are_operands(const Tensor& y, const Tensor& x, const Tensor& w) {
  const auto has_unit_stride = [](const Tensor& of) {
    return of.stride(0) == 1 || of.stride(1) == 1;
  };
  return is_matrix_of_floats(y) && is_matrix_of_floats(x) && is_matrix_of_floats(w) &&
         y.stride(1) == 1 && has_unit_stride(x) && has_unit_stride(w);
}

/// One operand is packed once and shared by all tasks; a task packs its own tiles of the other one.
/// The smaller operand is shared. Contiguous rows of x are not packed.
class FloatProduct {
 public:
  FloatProduct(const FloatMatmul& in, bool is_added)
      : in_(in),
        is_added_(is_added),
        shares_columns_(in.columns <= in.rows),
        packs_rows_(in.x_column != 1) {
    const auto tile = kernels::cpu::float_matmul_tile();
    const TileAxis rows{blocks_of(in.rows, tile.rows), tile.rows};
    const TileAxis columns{blocks_of(in.columns, tile.columns), tile.columns};
    shared_ = shares_columns_ ? columns : rows;
    own_ = shares_columns_ ? rows : columns;
    threads_ = in.rows * in.columns * in.depth < kSmall ? 1 : cpu::thread_count();
  }

  void run() {
    const auto terms = std::min(in_.depth, kPackedTerms);
    const auto packed = at::empty({packs_shared() ? shared_.values() * terms : 0}, at::kFloat);
    auto* const to = packs_shared() ? packed.mutable_data_ptr<float>() : nullptr;
    for (std::int64_t first = 0; first < in_.depth; first += kPackedTerms) {
      run_terms({first, std::min(kPackedTerms, in_.depth - first)}, to);
    }
  }

 private:
  /// The tiles of rows or of columns.
  struct TileAxis {
    std::int64_t tiles = 0, size = 0;
    std::int64_t values() const { return tiles * size; }
  };

  bool packs_shared() const { return shares_columns_ || packs_rows_; }
  bool packs_own() const { return !shares_columns_ || packs_rows_; }

  void run_terms(const MatmulTerms& terms, float* packed) const {
    const auto blocks = packs_shared() ? blocks_of(terms.count, kMatmulDepth) : 0;
    for_each(blocks * shared_.tiles, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto block = block_of(terms, i / shared_.tiles);
        const auto tile = i % shared_.tiles;
        pack(shares_columns_, block, {tile, tile + 1},
             packed_block(terms, block, packed) + tile * shared_.size * block.count);
      }
    });
    const auto tasks = task_count();
    for_each(tasks, [&](std::int64_t begin, std::int64_t end) {
      const auto most = own_.tiles / tasks + 1;
      const auto size = packs_own() ? most * own_.size * kMatmulDepth : 0;
      const auto scratch = at::empty({size}, at::kFloat);
      auto* const to = packs_own() ? scratch.mutable_data_ptr<float>() : nullptr;
      for (auto task = begin; task < end; ++task) {
        multiply(terms, {own_.tiles * task / tasks, own_.tiles * (task + 1) / tasks}, packed, to);
      }
    });
  }

  /// The product of a range of tiles of the axis that is not shared.
  void multiply(const MatmulTerms& terms, const TileRange& tiles, const float* packed,
                float* scratch) const {
    for (std::int64_t b = 0; b < blocks_of(terms.count, kMatmulDepth); ++b) {
      const auto block = block_of(terms, b);
      if (packs_own()) pack(!shares_columns_, block, tiles, scratch);
      const auto* const shared = packs_shared() ? packed_block(terms, block, packed) : nullptr;
      const TileRange all{0, shared_.tiles};
      const bool is_added = is_added_ || block.first > 0;
      if (shares_columns_) {
        kernels::cpu::multiply_tiles(in_, block, tiles, scratch, all, shared, is_added);
      } else {
        kernels::cpu::multiply_tiles(in_, block, all, shared, tiles, scratch, is_added);
      }
    }
  }

  void pack(bool columns, const MatmulTerms& terms, const TileRange& tiles, float* to) const {
    columns ? kernels::cpu::pack_columns(in_, terms, tiles, to)
            : kernels::cpu::pack_rows(in_, terms, tiles, to);
  }

  /// Block b of the terms.
  static MatmulTerms block_of(const MatmulTerms& terms, std::int64_t b) {
    return {terms.first + b * kMatmulDepth, std::min(kMatmulDepth, terms.count - b * kMatmulDepth)};
  }

  template <typename Float>
  Float* packed_block(const MatmulTerms& terms, const MatmulTerms& block, Float* packed) const {
    return packed + (block.first - terms.first) * shared_.values();
  }

  /// A multiple of the threads whose tiles stay in a cache of the second level.
  std::int64_t task_count() const {
    constexpr std::int64_t kTaskValues = 192;  // rows or columns
    const auto fewest = blocks_of(own_.values(), kTaskValues);
    return std::min(own_.tiles, blocks_of(fewest, threads_) * threads_);
  }

  template <typename Work>
  void for_each(std::int64_t count, const Work& work) const {
    if (threads_ == 1) return work(0, count);
    cpu::parallel_for(0, count, /*grain=*/1, work);
  }

  const FloatMatmul& in_;
  bool is_added_, shares_columns_, packs_rows_;
  TileAxis shared_, own_;
  std::int64_t threads_ = 1;
};

/// Few rows of x, as in decoding of a batch: to pack w would take longer than the product.
class ProductInPlace {
 public:
  ProductInPlace(const FloatMatmul& in, bool is_added)
      : in_(in), tile_(kernels::cpu::float_matmul_tile()), is_added_(is_added) {
    panels_ = at::empty({blocks_of(in.rows, tile_.columns) * tile_.columns * in.depth}, at::kFloat);
    kernels::cpu::pack_panels_of_rows(in, panels_.mutable_data_ptr<float>());
  }

  void run() const {
    for_each_tile([&](const TileRange& tiles) {
      kernels::cpu::multiply_in_place(in_, panels_.const_data_ptr<float>(), tiles, is_added_);
    });
  }

  /// The same with columns of w in bfloat16, `stride` values apart.
  void run(const kernels::cpu::Bf16* w, std::int64_t stride) const {
    constexpr std::int64_t kWidened = 32768;  // values, a quarter of a cache of the second level
    const auto tiles_at_once = std::max<std::int64_t>(1, kWidened / (tile_.rows * in_.depth));
    for_each_tile([&](const TileRange& tiles) {
      const auto wide = at::empty({tiles_at_once * tile_.rows * in_.depth}, at::kFloat);
      for (auto first = tiles.first; first < tiles.last; first += tiles_at_once) {
        multiply_widened_columns({first, std::min(tiles.last, first + tiles_at_once)}, w, stride,
                                 wide.mutable_data_ptr<float>());
      }
    });
  }

 private:
  template <typename Work>
  void for_each_tile(const Work& work) const {
    const auto tiles = blocks_of(in_.columns, tile_.rows);
    if (in_.rows * in_.columns * in_.depth < kSmall) return work(TileRange{0, tiles});
    cpu::parallel_for(0, tiles, /*grain=*/1,
                      [&](std::int64_t begin, std::int64_t end) { work(TileRange{begin, end}); });
  }

  void multiply_widened_columns(const TileRange& tiles, const kernels::cpu::Bf16* w,
                                std::int64_t stride, float* wide) const {
    const auto first = tiles.first * tile_.rows;
    auto block = in_;
    block.columns = std::min(in_.columns, tiles.last * tile_.rows) - first;
    for (std::int64_t j = 0; j < block.columns; ++j) {
      kernels::cpu::widen_row(w + (first + j) * stride, in_.depth, wide + j * in_.depth);
    }
    block.w = wide;
    block.w_row = 1;
    block.w_column = in_.depth;
    block.y = in_.y + first;
    kernels::cpu::multiply_in_place(block, panels_.const_data_ptr<float>(),
                                    {0, tiles.last - tiles.first}, is_added_);
  }

  const FloatMatmul& in_;
  kernels::cpu::MatmulTile tile_;
  bool is_added_;
  at::Tensor panels_;
};

/// The operands without w.
FloatMatmul operands_of(const Tensor& y, const Tensor& x) {
  return {.x = x.const_data_ptr<float>(),
          .x_row = x.stride(0),
          .x_column = x.stride(1),
          .y = y.mutable_data_ptr<float>(),
          .y_row = y.stride(0),
          .rows = y.size(0),
          .depth = x.size(1),
          .columns = y.size(1)};
}

}  // namespace

bool has_float_product() {
  static const bool has = [] {
    const auto cpu = CpuFeatures::detect();
    return cpu.amd && cpu.avx2;
  }();
  return has;
}

bool uses_float_product(const Tensor& y, const Tensor& x, const Tensor& w) {
  return has_float_product() && are_operands(y, x, w);
}

bool uses_float_product_in_place(const Tensor& y, const Tensor& x, const Tensor& w) {
  static const bool has_vectors = CpuFeatures::detect().avx512;
  return has_vectors && are_operands(y, x, w) && w.stride(0) == 1 && x.size(0) <= kRowsWithAvx512;
}

void float_product_out(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  EK_ASSERT(are_operands(y, x, w) && x.size(0) == y.size(0) && w.size(0) == x.size(1) &&
            w.size(1) == y.size(1));
  auto in = operands_of(y, x);
  in.w = w.const_data_ptr<float>();
  in.w_row = w.stride(0);
  in.w_column = w.stride(1);
  if (in.rows <= kRowsInPlace && in.w_row == 1) return ProductInPlace(in, is_added).run();
  FloatProduct(in, is_added).run();
}

bool uses_float_product_of_bf16(const Tensor& x, const Tensor& w) {
  return has_float_product() && x.dim() == 2 && x.size(0) > 1 && x.size(0) <= kRowsInPlace &&
         w.is_cpu() && w.scalar_type() == at::kBFloat16 && !w.is_neg() && w.stride(0) == 1 &&
         w.size(0) > 1 && w.size(1) > 1;
}

void float_product_of_bf16(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  EK_ASSERT(uses_float_product_of_bf16(x, w) && x.size(0) == y.size(0) && w.size(0) == x.size(1) &&
            w.size(1) == y.size(1) && y.stride(1) == 1);
  const auto rows = x.to(at::kFloat).contiguous();
  const auto in = operands_of(y, rows);
  ProductInPlace(in, is_added).run(cpu::const_data<at::BFloat16>(w), w.stride(1));
}

}  // namespace evenkeel::ops
