// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_bf16_softmax.h"
#include "evenkeel/kernels/cpu/avx512/gemm_bf16.h"
#include "evenkeel/kernels/cpu/common/causal_attention_mask.h"

/// The forward pass of causal attention in bfloat16, for a Gemm of gemm_bf16.h. A block is
/// kTwoTiles queries by kKeys keys. The AMX unit and the vector units work at the same time if
/// their instructions are interleaved. So the code computes a row of this block's softmax, then a
/// piece of a product, then the next row. The pieces belong to two products: the previous block's
/// weights with the values, and the scores of the next block.
namespace evenkeel::kernels::cpu::bf16_forward {

inline constexpr std::int64_t kKeys = 512;
inline constexpr std::int64_t kScores =
    kKeys + 16;  // row stride; a power of two would conflict in caches
inline constexpr std::int64_t kPiece = 2 * kTwoTiles;  // keys that one piece of a sum covers

/// Offsets of the buffers in scratch, in floats; `end` is the size of scratch.
struct ScratchLayout {
  explicit ScratchLayout(const AttentionSizes& sizes)
      : depth(up_to(kTwoTiles, sizes.width)),
        positions(up_to(kTwoTiles, sizes.keys)),
        keys(0),
        values(keys + positions * depth / 2),
        queries(values + positions * depth / 2),
        scores(queries + kTwoTiles * depth / 2),
        sums(scores + 2 * kTwoTiles * kScores),
        end(sums + kTwoTiles * depth) {}
  std::int64_t depth, positions;  // width and keys in whole pairs of tiles
  std::int64_t keys, values, queries, scores, sums, end;
};

/// The buffers in scratch. There are two buffers of scores: of this block and of the next one.
struct Buffers {
  ScratchLayout layout;
  std::uint32_t *keys, *values;
  Bf16* queries;
  float *scores, *sums;
  Buffers(const AttentionSizes& sizes, float* scratch)
      : layout(sizes),
        keys(reinterpret_cast<std::uint32_t*>(scratch + layout.keys)),
        values(reinterpret_cast<std::uint32_t*>(scratch + layout.values)),
        queries(reinterpret_cast<Bf16*>(scratch + layout.queries)),
        scores(scratch + layout.scores),
        sums(scratch + layout.sums) {}
};

/// A block. Each query of a block is multiplied with the same `whole` keys, masked or not.
struct Block {
  std::int64_t head = 0, q0 = 0, rows = 0;    // queries [q0, q0 + rows)
  std::int64_t k0 = 0, count = 0, whole = 0;  // keys [k0, k0 + count)
  bool is_first = false, is_last = false;     // first, last block of these queries
  float* scores = nullptr;  // later also the weights, in the first half of each row
};

/// Iterates over the blocks of a key head.
class Blocks {
 public:
  Blocks(const AttentionSizes& sizes, const AttentionHead<Bf16>& head, const Buffers& buffers)
      : sizes_(sizes), head_(head), buffers_(buffers) {}

  /// \return false after the last block
  bool next(Block& block) {
    if (is_last_) {
      if (h_ == head_.heads) return false;
      block_ = {.head = h_, .q0 = q0_, .rows = std::min(kTwoTiles, sizes_.queries - q0_)};
      block_.k0 = first_key_block(head_.document_starts, q0_, kKeys);
      block_.is_first = true;
      q0_ += kTwoTiles;
      if (q0_ >= sizes_.queries) q0_ = 0, ++h_;
    } else {
      block_.k0 += kKeys;
      block_.is_first = false;
    }
    const auto visible = sizes_.keys - sizes_.queries + block_.q0 + block_.rows;
    block_.count = std::min(kKeys, visible - block_.k0);
    block_.whole = up_to(kTwoTiles, block_.count);
    block_.is_last = is_last_ = block_.k0 + kKeys >= visible;
    block_.scores = buffers_.scores + blocks_++ % 2 * kTwoTiles * kScores;
    block = block_;
    return true;
  }

 private:
  const AttentionSizes& sizes_;
  const AttentionHead<Bf16>& head_;
  const Buffers& buffers_;
  Block block_;
  std::int64_t h_ = 0, q0_ = 0, blocks_ = 0;
  bool is_last_ = true;
};

/// scores = q k^T, in pieces of two tiles of keys.
template <typename Gemm>
struct ScoresProduct {
  const Buffers& buffers;
  const Block& block;
  std::int64_t key = 0;

  std::int64_t pieces() const { return block.whole / kTwoTiles; }
  EK_AMX_INLINE void run_piece() {
    const auto depth = buffers.layout.depth;
    Gemm::template multiply_tiles<false, 2, 2>(
        {buffers.queries, depth}, {buffers.keys + (block.k0 + key) * depth / 2, depth / 2 * kTile},
        block.scores + key, kScores, depth);
    key += kTwoTiles;
  }
};

/// sums += weights v: two tiles of columns at a time, in pieces of kPiece keys.
template <typename Gemm>
struct ValuesProduct {
  const Buffers& buffers;
  const Block& block;
  std::int64_t wide;
  std::int64_t column = 0, key = 0;

  std::int64_t pieces() const {
    return up_to(kTwoTiles, wide) / kTwoTiles * (up_to(kPiece, block.whole) / kPiece);
  }
  EK_AMX_INLINE void run_piece() {
    column + kTile < wide ? run_piece_of<2>() : run_piece_of<1>();
    key += kPiece;
    if (key >= block.whole) key = 0, column += kTwoTiles;
  }
  template <int kWide>
  EK_AMX_INLINE void run_piece_of() const {
    const auto depth = buffers.layout.depth, panel = buffers.layout.positions / 2 * kTile;
    Gemm::template multiply_piece<2, kWide>(
        {reinterpret_cast<const Bf16*>(block.scores) + key, 2 * kScores},
        {buffers.values + column / kTile * panel + (block.k0 + key) / 2 * kTile, panel},
        buffers.sums + column, depth, std::min(kPiece, block.whole - key),
        {.is_first = key == 0, .is_last = key + kPiece >= block.whole, .adds = !block.is_first});
  }
};

/// The pieces of two products, distributed evenly over the rows of a softmax.
template <typename Gemm>
struct InterleavedProducts {
  ValuesProduct<Gemm> values;
  ScoresProduct<Gemm> scores;
  std::int64_t value_pieces = 0, all = 0, done = 0;

  EK_AMX_INLINE void advance(std::int64_t row) {
    for (; done * kTwoTiles < all * (row + 1); ++done) {
      // Tile instructions access memory that the compiler does not see.
      asm volatile("" ::: "memory");
      done < value_pieces ? values.run_piece() : scores.run_piece();
    }
  }
  EK_AMX_INLINE void finish() { advance(kTwoTiles - 1); }
};

/// The softmax of one block, per query: visible keys, maximum, sum of weights, and the factor that
/// rescales earlier sums.
struct alignas(64) BlockSoftmax {
  float largest[kTwoTiles], rescale[kTwoTiles], sum[kTwoTiles];
  Range visible[kTwoTiles];
};

/// Applies soft cap and mask to the scores, and computes the maximum of each row times `factor`.
/// \return factor  the argument of exp2_row()
EK_AMX_INLINE float find_largest(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                 const Block& block, BlockSoftmax& rows) {
  const bool has_cap = sizes.softcap > 0;
  const auto scale = static_cast<float>(sizes.scale * kLog2OfE);
  // Only a positive factor keeps masked scores below all other scores.
  const float factor = !has_cap && scale > 0 ? scale : 1;
  for (std::int64_t r = 0; r < kTwoTiles; ++r) {
    float* const row = block.scores + r * kScores;
    auto& visible = rows.visible[r];
    visible = r < block.rows ? visible_keys(head.document_starts, block.q0 + r,
                                            sizes.keys - sizes.queries, block.k0, block.count)
                             : Range{};
    rows.largest[r] = kMaskedScore;
    if (visible.is_empty()) continue;
    if (has_cap) cap_row(row, block.whole, sizes);
    if (!has_cap && factor != scale) scale_row(row, block.whole, scale);
    std::fill(row, row + visible.begin, kMaskedScore);
    std::fill(row + visible.end, row + block.whole, kMaskedScore);
    rows.largest[r] = factor * largest_of(row, block.whole);
  }
  return factor;
}

/// \return true if an earlier sum must be rescaled
EK_AMX_INLINE bool update_running_max(OnlineSoftmaxBlock& running, BlockSoftmax& rows) {
  __mmask16 needs_rescale = 0;
  for (std::int64_t r = 0; r < kTwoTiles; r += 16) {
    const __m512 before = _mm512_load_ps(running.largest + r);
    const __m512 now = _mm512_max_ps(_mm512_load_ps(rows.largest + r), before);
    const __m512 left = rescale_factor(before, now);
    needs_rescale |= _mm512_cmp_ps_mask(left, _mm512_set1_ps(1), _CMP_NEQ_UQ);
    _mm512_store_ps(rows.rescale + r, left);
    _mm512_store_ps(running.largest + r, now);
  }
  return needs_rescale != 0;
}

/// The softmax of a block, interleaved with the GEMMs.
template <typename Gemm>
EK_AMX_INLINE void softmax_block(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                 const Buffers& buffers, const Block& block,
                                 OnlineSoftmaxBlock& running,
                                 InterleavedProducts<Gemm>& interleaved) {
  BlockSoftmax rows;
  const float factor = find_largest(sizes, head, block, rows);
  const bool needs_rescale = update_running_max(running, rows);
  for (std::int64_t r = 0; r < kTwoTiles; ++r) {
    float* const row = block.scores + r * kScores;
    rows.sum[r] = 0;
    if (rows.visible[r].is_empty()) {
      std::fill_n(reinterpret_cast<Bf16*>(row), block.whole, Bf16{0});
    } else {
      rows.sum[r] = exp2_row(row, block.whole, factor, running.largest[r]);
    }
    interleaved.advance(r);
  }
  for (std::int64_t r = 0; r < kTwoTiles; r += 16) {
    const __m512 total = _mm512_load_ps(running.total + r);
    _mm512_store_ps(running.total + r, _mm512_fmadd_ps(total, _mm512_load_ps(rows.rescale + r),
                                                       _mm512_load_ps(rows.sum + r)));
  }
  if (block.is_first || !needs_rescale) return;
  const auto depth = buffers.layout.depth;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    scale_row(buffers.sums + r * depth, up_to(kTile, sizes.width), rows.rescale[r]);
  }
}

/// Copies the queries of a block, before its scores are computed.
EK_AMX_INLINE void load_queries(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                const Buffers& buffers, const Block& block) {
  if (!block.is_first) return;
  const HeadRows<const Bf16> q = {head.q.rows + block.head * head.q_head, head.q.stride};
  copy_rows({q, block.q0, block.rows, kTwoTiles, sizes.width}, buffers.layout.depth,
            buffers.queries);
}

/// Stores y and lse of a block's queries, after their last block of keys.
EK_AMX_INLINE void store_output(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                const Buffers& buffers, const Block& block,
                                const OnlineSoftmaxBlock& running) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    Bf16* const y = head.y.rows + block.head * head.y_head + (block.q0 + r) * head.y.stride;
    const float* const sums = buffers.sums + r * buffers.layout.depth;
    const __m512 inverse = _mm512_set1_ps(1 / running.total[r]);
    for (std::int64_t d = 0; d < sizes.width; d += 16) {
      avx512::store_16(y + d, _mm512_mul_ps(_mm512_loadu_ps(sums + d), inverse),
                       avx512::tail_mask_16(sizes.width - d));
    }
    head.lse[block.head * sizes.queries + block.q0 + r] =
        (running.largest[r] + std::log2(running.total[r])) / static_cast<float>(kLog2OfE);
    if (head.largest == nullptr) continue;
    float& largest = head.largest[block.head];
    largest = std::max(largest, running.largest[r] / static_cast<float>(kLog2OfE));
  }
}

/// Floats of scratch, which begins at a multiple of 64 bytes.
inline std::int64_t scratch_size(const AttentionSizes& sizes) {
  return ScratchLayout(sizes).end;
}

/// y, lse and the largest scores of one key head.
template <typename Gemm>
EK_AMX_INLINE void run(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                       float* scratch) {
  [[maybe_unused]] const typename Gemm::Scope scope;
  const Buffers buffers(sizes, scratch);
  const auto [depth, positions] = std::pair(buffers.layout.depth, buffers.layout.positions);
  const auto wide = up_to(kTile, sizes.width);
  pack_as_columns({head.k, 0, sizes.keys, positions, sizes.width}, depth, buffers.keys);
  pack_as_rows({head.v, 0, sizes.keys, positions, sizes.width}, depth, buffers.values,
               positions / 2 * kTile);
  Blocks blocks(sizes, head, buffers);
  Block last, now, next;
  OnlineSoftmaxBlock running[2];  // of the previous block, and of this one
  bool has_last = false, has_now = blocks.next(now);
  if (!has_now) return;
  running[0].clear();
  load_queries(sizes, head, buffers, now);
  InterleavedProducts<Gemm> first = {
      {buffers, last, wide}, {buffers, now}, 0, now.whole / kTwoTiles};
  first.finish();
  while (has_now) {
    const bool has_next = blocks.next(next);
    if (has_next) load_queries(sizes, head, buffers, next);
    if (now.is_first) {
      running[1] = running[0];
      running[0].clear();
    }
    InterleavedProducts<Gemm> interleaved = {{buffers, last, wide}, {buffers, next}};
    interleaved.value_pieces = has_last ? interleaved.values.pieces() : 0;
    interleaved.all = interleaved.value_pieces + (has_next ? interleaved.scores.pieces() : 0);
    softmax_block(sizes, head, buffers, now, running[0], interleaved);
    if (has_last && last.is_last) store_output(sizes, head, buffers, last, running[1]);
    last = now, now = next;
    has_last = has_now, has_now = has_next;
  }
  InterleavedProducts<Gemm> rest = {{buffers, last, wide}, {buffers, next}};
  rest.value_pieces = rest.all = rest.values.pieces();
  rest.finish();
  store_output(sizes, head, buffers, last, running[0]);
}

}  // namespace evenkeel::kernels::cpu::bf16_forward
