// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/attention_amx.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenkeel/kernels/cpu/amx_pack.h"
#include "evenkeel/kernels/cpu/attention_range.h"

namespace evenkeel::kernels::cpu {

namespace {

// Of a pass: queries that share what is read of the keys, and keys whose scores are held; of a
// product with values: keys whose weights and values stay in the first-level cache.
constexpr std::int64_t kQueries = 128, kKeys = 512, kNear = 256;
constexpr std::int64_t kScores = kKeys + 16, kWeights = kKeys + 32;  // no power of two apart

/// Where the parts of scratch begin, in floats; `end` is its size.
struct Scratch {
  explicit Scratch(const AttentionSizes& sizes)
      : depth(up_to(kTwoTiles, sizes.width)),
        positions(up_to(kTwoTiles, sizes.keys)),
        keys(0),
        values(keys + positions * depth / 2),
        queries(values + positions * depth / 2),
        scores(queries + kQueries * depth / 2),
        weights(scores + kQueries * kScores),
        sums(weights + kQueries * kWeights / 2),
        end(sums + kQueries * depth) {}
  std::int64_t depth, positions;  // width and keys in whole pairs of tiles
  std::int64_t keys, values, queries, scores, weights, sums, end;
};

/// The softmax of one query, as far as it went, in units of log 2.
struct Running {
  float largest = -std::numeric_limits<float>::infinity();
  float total = 0;
};

/// weights = 2^(scores * factor - the largest so far), 0 where the range ends; `limit` of each.
/// \return the factor for what was summed before
EK_LANES float weigh(float* scores, Bf16* weights, const Range& seen, std::int64_t limit,
                     float factor, Running& running) {
  if (seen.is_empty()) {
    std::fill(weights, weights + limit, Bf16{0});
    return 1;
  }
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  std::fill(scores, scores + seen.begin, kHidden);
  std::fill(scores + seen.end, scores + limit, kHidden);
  const __m512 factors = _mm512_set1_ps(factor);
  __m512 most = _mm512_set1_ps(kHidden), other = most;
  for (std::int64_t j = 0; j < limit; j += 32) {
    most = _mm512_max_ps(_mm512_mul_ps(_mm512_loadu_ps(scores + j), factors), most);
    other = _mm512_max_ps(_mm512_mul_ps(_mm512_loadu_ps(scores + j + 16), factors), other);
  }
  const float largest = std::max(running.largest, _mm512_reduce_max_ps(_mm512_max_ps(most, other)));
  const __m512 shift = _mm512_set1_ps(largest);
  __m512 sum = _mm512_setzero_ps(), more = sum;
  for (std::int64_t j = 0; j < limit; j += 32) {
    const __m512 a = lanes::exp2_of(_mm512_fmsub_ps(_mm512_loadu_ps(scores + j), factors, shift));
    const __m512 b =
        lanes::exp2_of(_mm512_fmsub_ps(_mm512_loadu_ps(scores + j + 16), factors, shift));
    sum = _mm512_add_ps(sum, a);
    more = _mm512_add_ps(more, b);
    lanes::store_32(weights + j, a, b);
  }
  const float shrink = std::exp2(running.largest - largest);
  running.total = running.total * shrink + _mm512_reduce_add_ps(_mm512_add_ps(sum, more));
  running.largest = largest;
  return shrink;
}

EK_LANES void scale_row(float* row, std::int64_t count, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (std::int64_t d = 0; d < count; d += 16) {
    _mm512_storeu_ps(row + d, _mm512_mul_ps(_mm512_loadu_ps(row + d), factors));
  }
}

/// softcap tanh(s scale / softcap), in units of log 2.
EK_LANES void cap_row(float* row, std::int64_t count, const AttentionSizes& sizes) {
  const __m512 inner = _mm512_set1_ps(static_cast<float>(sizes.scale / sizes.softcap));
  const __m512 outer = _mm512_set1_ps(static_cast<float>(sizes.softcap * kLog2OfE));
  for (std::int64_t j = 0; j < count; j += 16) {
    const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(row + j), inner);
    _mm512_storeu_ps(row + j, _mm512_mul_ps(lanes::tanh_of(x), outer));
  }
}

/// The parts of scratch.
struct Parts {
  Scratch at;
  std::uint32_t *keys, *values;
  Bf16 *queries, *weights;
  float *scores, *sums;
  Parts(const AttentionSizes& sizes, float* scratch)
      : at(sizes),
        keys(reinterpret_cast<std::uint32_t*>(scratch + at.keys)),
        values(reinterpret_cast<std::uint32_t*>(scratch + at.values)),
        queries(reinterpret_cast<Bf16*>(scratch + at.queries)),
        weights(reinterpret_cast<Bf16*>(scratch + at.weights)),
        scores(scratch + at.scores),
        sums(scratch + at.sums) {}
};

/// Queries [q0, q0 + rows) of one head.
EK_AMX void forward(const AttentionSizes& sizes, const AttentionHead<Bf16>& head, std::int64_t h,
                    std::int64_t q0, const Parts& part) {
  const auto depth = part.at.depth;
  const auto rows = std::min(kQueries, sizes.queries - q0);
  const auto earlier = sizes.keys - sizes.queries;
  const bool has_cap = sizes.softcap > 0;
  const float factor = has_cap ? 1 : static_cast<float>(sizes.scale * kLog2OfE);
  Running running[kQueries];
  copy_rows({{head.q.rows + h * head.q_head, head.q.stride},
             q0,
             rows,
             up_to(kTwoTiles, rows),
             sizes.width},
            depth, part.queries);
  std::fill(part.sums, part.sums + kQueries * depth, 0.F);
  const auto seen = earlier + q0 + rows;
  const auto begin = head.begins == nullptr ? 0 : head.begins[q0] / kKeys * kKeys;
  for (auto k0 = begin; k0 < seen; k0 += kKeys) {
    const auto count = std::min(kKeys, seen - k0);
    const auto whole = up_to(kTwoTiles, count);
    // Columns that are computed for a row: up to the last one that its two tiles of rows see.
    const auto limit_of = [&](std::int64_t r) {
      const auto last = earlier + q0 + up_to(kTwoTiles, r + 1) - k0;
      return std::clamp<std::int64_t>(up_to(kTwoTiles, last), 0, whole);
    };
    for (std::int64_t j = 0; j < whole; j += kTwoTiles) {
      const auto first = std::max<std::int64_t>(0, k0 + j - earlier - q0) / kTwoTiles * kTwoTiles;
      multiply<false>({part.queries + first * depth, depth},
                      {part.keys + (k0 + j) * depth / 2, depth / 2 * kTile},
                      part.scores + first * kScores + j, kScores, up_to(kTwoTiles, rows) - first,
                      kTwoTiles, depth);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto limit = limit_of(r);
      if (limit == 0) continue;
      float* const row = part.scores + r * kScores;
      if (has_cap) cap_row(row, limit, sizes);
      if (!(factor > 0)) scale_row(row, limit, factor);  // or what is hidden would not stay below
      const auto range = keys_of(head.begins, q0 + r, earlier, k0, count);
      const float shrink = weigh(row, part.weights + r * kWeights, range, limit,
                                 factor > 0 ? factor : 1, running[r]);
      if (shrink != 1) scale_row(part.sums + r * depth, depth, shrink);
    }
    for (std::int64_t near = 0; near < whole; near += kNear) {
      for (std::int64_t r = 0; r < rows; r += kTwoTiles) {
        const auto deep = std::min(kNear, limit_of(r) - near);
        if (deep <= 0) continue;
        multiply<true>({part.weights + r * kWeights + near, kWeights},
                       {part.values + (k0 + near) / 2 * kTile, part.at.positions / 2 * kTile},
                       part.sums + r * depth, depth, kTwoTiles, up_to(kTile, sizes.width), deep);
      }
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    Bf16* const y = head.y.rows + h * head.y_head + (q0 + r) * head.y.stride;
    const __m512 inverse = _mm512_set1_ps(1 / running[r].total);
    for (std::int64_t d = 0; d < sizes.width; d += 16) {
      lanes::store_16(y + d, _mm512_mul_ps(_mm512_loadu_ps(part.sums + r * depth + d), inverse),
                      lanes::first_of_16(sizes.width - d));
    }
    head.lse[h * sizes.queries + q0 + r] =
        (running[r].largest + std::log2(running[r].total)) / static_cast<float>(kLog2OfE);
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
  pack_as_columns({head.k, 0, sizes.keys, positions, sizes.width}, depth, part.keys);
  pack_as_rows({head.v, 0, sizes.keys, positions, sizes.width}, depth, part.values,
               positions / 2 * kTile);
  for (std::int64_t h = 0; h < head.heads; ++h) {
    for (std::int64_t q0 = 0; q0 < sizes.queries; q0 += kQueries) {
      forward(sizes, head, h, q0, part);
    }
  }
}

}  // namespace evenkeel::kernels::cpu

#endif
