// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/attention_amx.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/kernels/cpu/amx_pack.h"
#include "evenkeel/kernels/cpu/attention_range.h"
#include "evenkeel/kernels/cpu/attention_softmax.h"

/// A block is kTwoTiles queries by kKeys keys. Tiles multiply beside the other units of the
/// processor if their instructions come at the same time: so between the rows of a block's softmax
/// stand pieces of two products, the last block's with the values and the next one's scores.
namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kKeys = 512;
constexpr std::int64_t kScores = kKeys + 16;    // from row to row: no power of two
constexpr std::int64_t kPiece = 2 * kTwoTiles;  // of a sum: keys of one piece

/// Where the parts of scratch begin, in floats; `end` is its size.
struct Scratch {
  explicit Scratch(const AttentionSizes& sizes)
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

/// The parts of scratch. Of scores there are two: this block's and the next one's.
struct Parts {
  Scratch at;
  std::uint32_t *keys, *values;
  Bf16* queries;
  float *scores, *sums;
  Parts(const AttentionSizes& sizes, float* scratch)
      : at(sizes),
        keys(reinterpret_cast<std::uint32_t*>(scratch + at.keys)),
        values(reinterpret_cast<std::uint32_t*>(scratch + at.values)),
        queries(reinterpret_cast<Bf16*>(scratch + at.queries)),
        scores(scratch + at.scores),
        sums(scratch + at.sums) {}
};

/// A block: all queries of one have the same keys computed, `whole` of them.
struct Block {
  std::int64_t head = 0, q0 = 0, rows = 0;    // queries [q0, q0 + rows)
  std::int64_t k0 = 0, count = 0, whole = 0;  // keys [k0, k0 + count)
  bool is_first = false, is_last = false;     // of these queries
  float* scores = nullptr;                    // and, in the first half of each row, their weights
};

/// Goes through the blocks of a key head.
class Blocks {
 public:
  Blocks(const AttentionSizes& sizes, const AttentionHead<Bf16>& head, const Parts& part)
      : sizes_(sizes), head_(head), part_(part) {}

  /// \return false behind the last one
  bool next(Block& block) {
    if (is_last_) {
      if (h_ == head_.heads) return false;
      at_ = {.head = h_, .q0 = q0_, .rows = std::min(kTwoTiles, sizes_.queries - q0_)};
      at_.k0 = head_.document_starts == nullptr ? 0 : head_.document_starts[q0_] / kKeys * kKeys;
      at_.is_first = true;
      q0_ += kTwoTiles;
      if (q0_ >= sizes_.queries) q0_ = 0, ++h_;
    } else {
      at_.k0 += kKeys;
      at_.is_first = false;
    }
    const auto seen = sizes_.keys - sizes_.queries + at_.q0 + at_.rows;
    at_.count = std::min(kKeys, seen - at_.k0);
    at_.whole = up_to(kTwoTiles, at_.count);
    at_.is_last = is_last_ = at_.k0 + kKeys >= seen;
    at_.scores = part_.scores + blocks_++ % 2 * kTwoTiles * kScores;
    block = at_;
    return true;
  }

 private:
  const AttentionSizes& sizes_;
  const AttentionHead<Bf16>& head_;
  const Parts& part_;
  Block at_;
  std::int64_t h_ = 0, q0_ = 0, blocks_ = 0;
  bool is_last_ = true;
};

/// scores = q k^T, in pieces of two tiles of keys.
struct ScoresProduct {
  const Parts& part;
  const Block& of;
  std::int64_t key = 0;

  std::int64_t pieces() const { return of.whole / kTwoTiles; }
  EK_AMX_INLINE void make_piece() {
    const auto depth = part.at.depth;
    multiply_tiles<false, 2, 2>({part.queries, depth},
                                {part.keys + (of.k0 + key) * depth / 2, depth / 2 * kTile},
                                of.scores + key, kScores, depth);
    key += kTwoTiles;
  }
};

/// sums += weights v, two tiles of columns after two; each in pieces of kPiece keys.
struct ValuesProduct {
  const Parts& part;
  const Block& of;
  std::int64_t wide;
  std::int64_t column = 0, key = 0;

  std::int64_t pieces() const {
    return up_to(kTwoTiles, wide) / kTwoTiles * (up_to(kPiece, of.whole) / kPiece);
  }
  EK_AMX_INLINE void make_piece() {
    column + kTile < wide ? make_of<2>() : make_of<1>();
    key += kPiece;
    if (key >= of.whole) key = 0, column += kTwoTiles;
  }
  template <int kWide>
  EK_AMX_INLINE void make_of() const {
    using Of = Sums<2, kWide>;
    const auto depth = part.at.depth, panel = part.at.positions / 2 * kTile;
    if (key == 0) of.is_first ? Of::clear() : Of::load(part.sums + column, depth);
    Of::add({reinterpret_cast<const Bf16*>(of.scores) + key, 2 * kScores},
            {part.values + column / kTile * panel + (of.k0 + key) / 2 * kTile, panel},
            std::min(kPiece, of.whole - key));
    if (key + kPiece >= of.whole) Of::store(part.sums + column, depth);
  }
};

/// Pieces of two products, one after the other, spread over the rows of a softmax.
struct Beside {
  ValuesProduct values;
  ScoresProduct scores;
  std::int64_t of_values = 0, all = 0, made = 0;

  EK_AMX_INLINE void go_on(std::int64_t row) {
    for (; made * kTwoTiles < all * (row + 1); ++made) {
      // The instructions read and write memory that the compiler does not know of.
      asm volatile("" ::: "memory");
      made < of_values ? values.make_piece() : scores.make_piece();
    }
  }
  EK_AMX_INLINE void finish() { go_on(kTwoTiles - 1); }
};

/// The softmax of one block's rows: what they see, and what it finds.
struct alignas(64) Rows {
  float largest[kTwoTiles], shrink[kTwoTiles], sum[kTwoTiles];
  Range seen[kTwoTiles];
};

/// Caps and hides scores, and finds the largest of each row, times what weigh() multiplies by.
/// \return that factor
EK_AMX_INLINE float find_largest(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                            const Block& block, Rows& rows) {
  const bool has_cap = sizes.softcap > 0;
  const auto scale = static_cast<float>(sizes.scale * kLog2OfE);
  // Without a factor that is positive what is hidden would not stay below.
  const float factor = !has_cap && scale > 0 ? scale : 1;
  for (std::int64_t r = 0; r < kTwoTiles; ++r) {
    float* const row = block.scores + r * kScores;
    auto& seen = rows.seen[r];
    seen = r < block.rows ? keys_of(head.document_starts, block.q0 + r, sizes.keys - sizes.queries, block.k0,
                                    block.count)
                          : Range{};
    rows.largest[r] = kHidden;
    if (seen.is_empty()) continue;
    if (has_cap) cap_row(row, block.whole, sizes);
    if (!has_cap && factor != scale) scale_row(row, block.whole, scale);
    std::fill(row, row + seen.begin, kHidden);
    std::fill(row + seen.end, row + block.whole, kHidden);
    rows.largest[r] = factor * largest_of(row, block.whole);
  }
  return factor;
}

/// \return whether any sum shrinks
EK_AMX_INLINE bool shrink(Running& running, Rows& rows) {
  __mmask16 shrinks = 0;
  for (std::int64_t r = 0; r < kTwoTiles; r += 16) {
    const __m512 before = _mm512_load_ps(running.largest + r);
    const __m512 now = _mm512_max_ps(_mm512_load_ps(rows.largest + r), before);
    const __m512 left = shrinking_of(before, now);
    shrinks |= _mm512_cmp_ps_mask(left, _mm512_set1_ps(1), _CMP_NEQ_UQ);
    _mm512_store_ps(rows.shrink + r, left);
    _mm512_store_ps(running.largest + r, now);
  }
  return shrinks != 0;
}

/// The softmax of a block, with the products beside it.
EK_AMX_INLINE void soften(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                     const Parts& part, const Block& block, Running& running, Beside& beside) {
  Rows rows;
  const float factor = find_largest(sizes, head, block, rows);
  const bool shrinks = shrink(running, rows);
  for (std::int64_t r = 0; r < kTwoTiles; ++r) {
    float* const row = block.scores + r * kScores;
    rows.sum[r] = 0;
    if (rows.seen[r].is_empty()) {
      std::fill_n(reinterpret_cast<Bf16*>(row), block.whole, Bf16{0});
    } else {
      rows.sum[r] = weigh(row, block.whole, factor, running.largest[r]);
    }
    beside.go_on(r);
  }
  for (std::int64_t r = 0; r < kTwoTiles; r += 16) {
    const __m512 total = _mm512_load_ps(running.total + r);
    _mm512_store_ps(running.total + r, _mm512_fmadd_ps(total, _mm512_load_ps(rows.shrink + r),
                                                       _mm512_load_ps(rows.sum + r)));
  }
  if (block.is_first || !shrinks) return;
  const auto depth = part.at.depth;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    scale_row(part.sums + r * depth, up_to(kTile, sizes.width), rows.shrink[r]);
  }
}

/// The queries of a block, before its scores are made.
EK_AMX_INLINE void begin(const AttentionSizes& sizes, const AttentionHead<Bf16>& head, const Parts& part,
                    const Block& block) {
  if (!block.is_first) return;
  const HeadRows<const Bf16> q = {head.q.rows + block.head * head.q_head, head.q.stride};
  copy_rows({q, block.q0, block.rows, kTwoTiles, sizes.width}, part.at.depth, part.queries);
}

/// y and lse of a block's queries, after their last sums.
EK_AMX_INLINE void finish(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                     const Parts& part, const Block& block, const Running& running) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    Bf16* const y = head.y.rows + block.head * head.y_head + (block.q0 + r) * head.y.stride;
    const float* const sums = part.sums + r * part.at.depth;
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

}  // namespace

std::int64_t attention_amx_scratch(const AttentionSizes& sizes) {
  return Scratch(sizes).end;
}

EK_AMX void attention_amx(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                          float* scratch) {
  const AmxTiles tiles;
  const Parts part(sizes, scratch);
  const auto [depth, positions] = std::pair(part.at.depth, part.at.positions);
  const auto wide = up_to(kTile, sizes.width);
  pack_as_columns({head.k, 0, sizes.keys, positions, sizes.width}, depth, part.keys);
  pack_as_rows({head.v, 0, sizes.keys, positions, sizes.width}, depth, part.values,
               positions / 2 * kTile);
  Blocks blocks(sizes, head, part);
  Block last, now, next;
  Running running[2];  // of the last block, and of this one
  bool has_last = false, has_now = blocks.next(now);
  if (!has_now) return;
  running[0].clear();
  begin(sizes, head, part, now);
  Beside first = {{part, last, wide}, {part, now}, 0, now.whole / kTwoTiles};
  first.finish();
  while (has_now) {
    const bool has_next = blocks.next(next);
    if (has_next) begin(sizes, head, part, next);
    if (now.is_first) {
      running[1] = running[0];
      running[0].clear();
    }
    Beside beside = {{part, last, wide}, {part, next}};
    beside.of_values = has_last ? beside.values.pieces() : 0;
    beside.all = beside.of_values + (has_next ? beside.scores.pieces() : 0);
    soften(sizes, head, part, now, running[0], beside);
    if (has_last && last.is_last) finish(sizes, head, part, last, running[1]);
    last = now, now = next;
    has_last = has_now, has_now = has_next;
  }
  Beside rest = {{part, last, wide}, {part, next}};
  rest.of_values = rest.all = rest.values.pieces();
  rest.finish();
  finish(sizes, head, part, last, running[0]);
}

}  // namespace evenkeel::kernels::cpu

#endif
