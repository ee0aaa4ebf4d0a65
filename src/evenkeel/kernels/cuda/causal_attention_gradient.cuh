// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/kernels/cuda/causal_attention_tile.cuh"

/// Device code that the backward kernels of causal_attention.cuh share.
namespace evenkeel::kernels::cuda {

/// A weight and the gradient of its score.
template <typename F>
struct WeightSlope {
  F weight, slope;

  /// \param score     before the cap
  /// \param gradient  of the weight
  __device__ WeightSlope(bool is_visible, F score, F gradient, F lse, F delta, F softcap) {
    score = capped(score, softcap);
    const F below = score - lse;
    weight = is_visible ? exp_of(below > 0 ? F(0) : below) : F(0);  // above 0 by rounding only
    slope = is_visible ? weight * (gradient - delta) * cap_slope(score, softcap) : F(0);
  }
};

/// The key tile of this block. Tiles with many queries come first.
struct KeyTile {
  std::int64_t b, kv_head, first;
  std::int64_t begin, end;     // the queries that see any of its keys; begin is that of a tile
  const std::int32_t* starts;  // of its sequence, or null

  __device__ KeyTile(const AttentionSizes& sizes, const std::int32_t* document_starts, int size) {
    const std::int64_t all = sizes.batch * sizes.kv_heads, block = blockIdx.x;
    b = block % all / sizes.kv_heads;
    kv_head = block % sizes.kv_heads;
    first = block / all * size;
    starts = starts_of(document_starts, sizes, b);
    begin = max(std::int64_t{0}, first - (sizes.keys - sizes.queries)) / size * size;
    end = sizes.queries;
    if (starts == nullptr) return;
    auto low = begin;  // the first query that begins after the tile
    while (low < end) {
      const auto middle = low + (end - low) / 2;
      if (starts[middle] < first + size) {
        low = middle + 1;
      } else {
        end = middle;
      }
    }
  }
};

/// lse, delta and the visible keys of the queries of a tile, in shared memory.
template <typename F, int kTile>
struct QueryStatistics {
  F lse[kTile], delta[kTile];
  ColumnRange keys[kTile];

  template <typename T>
  __device__ void load(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                       const KeyTile& tile, std::int64_t h, std::int64_t q0) {
    const auto i = static_cast<int>(threadIdx.x);
    if (i >= kTile) return;
    const auto query = q0 + i, row = (tile.b * sizes.heads + h) * sizes.queries + query;
    lse[i] = query < sizes.queries ? args.lse[row] : F(0);
    delta[i] = query < sizes.queries ? args.delta[row] : F(0);
    keys[i] = keys_of(tile.starts, query, sizes, tile.first, kTile);
  }
};

}  // namespace evenkeel::kernels::cuda
