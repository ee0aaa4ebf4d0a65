// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/common/causal_attention_mask.h"
#include "evenkeel/kernels/cpu/common/exp.h"
#include "evenkeel/kernels/cpu/common/isa_versions.h"
#include "evenkeel/kernels/cpu/common/register_tile.h"
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// Functions of the forward and backward pass of causal_attention(); for their files only.
namespace evenkeel::kernels::cpu {

// The most values of a vector and rows of a tile: the padding of buffers.
inline constexpr std::int64_t kPad = 32;

constexpr std::int64_t padded(std::int64_t count) {
  return (count + kPad - 1) / kPad * kPad;
}

/// The queries [first, first + rows) of query head `head`.
struct QueryBlock {
  std::int64_t head = 0, first = 0, rows = 0;

  /// The keys that are visible to any of the rows [0, end); `end` may exceed the rows of the block.
  [[gnu::always_inline]] std::int64_t visible_to(std::int64_t past_length, std::int64_t end) const {
    return past_length + first + std::min(end, rows);
  }
};

/// The keys [first, first + count).
struct KeyBlock {
  std::int64_t first = 0, count = 0;
};

/// The keys that kRows queries of a block see, from row `first` on, counted from the first key.
/// \param ranges  written: one for each query
/// \return false if the rows are not all in the block, if they begin at different keys, or if one
///         sees no key
template <int kRows>
[[gnu::always_inline]] inline bool begin_together(const std::int32_t* document_starts,
                                                  std::int64_t past_length, const QueryBlock& block,
                                                  const KeyBlock& keys, std::int64_t first,
                                                  Range* ranges) {
  if (first + kRows > block.rows) return false;
  for (int i = 0; i < kRows; ++i) {
    ranges[i] =
        visible_keys(document_starts, block.first + first + i, past_length, keys.first, keys.count);
    if (ranges[i].is_empty() || ranges[i].begin != ranges[0].begin) return false;
  }
  return true;
}

/// Transposes positions into panels of kPanel: panel[d][j] is value d of position j. The last
/// panel is padded with zeros.
template <int kPanel, typename T, typename F>
[[gnu::always_inline]] inline void pack_panels(const HeadRows<const T>& rows, std::int64_t count,
                                               std::int64_t width, F* panels) {
  for (std::int64_t first = 0; first < count; first += kPanel) {
    F* const panel = panels + first * width;
    for (std::int64_t j = 0; j < kPanel; ++j) {
      const bool is_one = first + j < count;
      const T* const row = rows.rows + (is_one ? first + j : 0) * rows.stride;
      for (std::int64_t d = 0; d < width; ++d) {
        panel[d * kPanel + j] = is_one ? static_cast<F>(load(row + d)) : 0;
      }
    }
  }
}

/// Rows times a factor, each padded with zeros to `stride`.
template <typename T, typename F>
[[gnu::always_inline]] inline void copy_rows(const HeadRows<const T>& rows, std::int64_t first,
                                             std::int64_t count, std::int64_t width, F factor,
                                             F* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const from = rows.rows + (first + i) * rows.stride;
    F* const row = to + i * stride;
#pragma omp simd
    for (std::int64_t d = 0; d < width; ++d) row[d] = static_cast<F>(load(from + d)) * factor;
    for (auto d = width; d < stride; ++d) row[d] = 0;
  }
}

/// Sets row[0, count) to zero, except the range `own`.
template <typename F>
[[gnu::always_inline]] inline void clear_outside(F* row, const Range& own, std::int64_t count) {
  const auto begin = own.is_empty() ? count : own.begin;
  std::fill(row, row + begin, F(0));
  if (begin < count) std::fill(row + own.end, row + count, F(0));
}

/// tanh(x): no cancellation near 0.
template <typename F>
[[gnu::always_inline]] inline F tanh_of(F x) {
  const F size = x < 0 ? -x : x;
  const F e = exp_nonpositive(-2 * size);
  const F far = (1 - e) / (1 + e);
  const F s = x * x;
  const F near =
      size * (1 + s * (F(-1) / 3 + s * (F(2) / 15 + s * (F(-17) / 315 + s * (F(62) / 2835)))));
  constexpr F kNear = sizeof(F) == 8 ? F(0.01) : F(0.2);
  const F result = size < kNear ? near : far;
  return x < 0 ? -result : result;
}

template <typename F>
[[gnu::always_inline]] inline void cap_row(F* __restrict row, std::int64_t count, F softcap) {
  const F inverse = 1 / softcap;
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) row[j] = softcap * tanh_of(row[j] * inverse);
}

/// What computes attention of bfloat16: the loops of this folder, or causal_attention_bf16.h with
/// the products of these instructions.
enum class AttentionUnit { portable, avx512_bf16, amx };
inline AttentionUnit bf16_attention_unit() {
  if (has_amx()) return AttentionUnit::amx;
  return has_avx512_bf16() ? AttentionUnit::avx512_bf16 : AttentionUnit::portable;
}
/// True if bf16_attention_unit() chooses the kernels of T.
#if defined(EK_VECTOR_BYTES)
template <typename T>
inline constexpr bool kHasBf16Kernels = false;
#else
template <typename T>
inline constexpr bool kHasBf16Kernels = std::is_same_v<T, Bf16>;
#endif

}  // namespace evenkeel::kernels::cpu
