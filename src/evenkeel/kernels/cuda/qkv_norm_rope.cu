// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cuda/head_tile.cuh"
#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/cuda/qkv_norm_rope_generic.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr int kForwardBlocks = 3, kBackwardBlocks = 2;  // that a multiprocessor holds

template <typename T>
__global__ void __launch_bounds__(kHeadThreads, kForwardBlocks)
    forward_tile_kernel(const __grid_constant__ QkvRows<T> args, HeadGrid grid) {
  const auto mine = HeadBlock::of(grid);
  const Heads<T>& part = args.part[mine.part];
  const int width = static_cast<int>(args.width);
  const double per_column = 1 / static_cast<double>(width);
  const float least = smallest_square_sum(part.epsilon);
  auto at = HeadCursor::of(args, mine, grid.threads);
  __shared__ typename SharedHeadVector<T>::Memory memory;
  const auto gain = SharedHeadVector<T>::of(memory, part.gain, width, grid.threads);
  __syncthreads();
  HeadVector<T> turn;
  for (; at.turns > 0; --at.turns, at.advance()) {
    const bool is_held = at.is_held && at.token < args.tokens;
    const std::int64_t head = at.token * args.heads + part.first + at.head;
    HeadTile<T> x;
    x.load(args.qkv + head * width, width, at.lane, is_held);
    if (part.cos_sin != nullptr) {
      turn.load(part.cos_sin + std::int64_t{at.position} * width, width, at.lane, is_held);
    }
    RowFactor factor = {1, 1};
    if (part.gain != nullptr) {
      const double squares = warp_total(scaled_head_squares(x, least), grid.threads);
      const double rstd = tile_rstd(squares * per_column + part.epsilon);
      factor = RowFactor::of(rstd);
      if (at.lane == 0 && is_held) args.rstd[head] = rstd;
    }
    const auto normed = [&](int i) {
      const HeadPair pair = x.at(i), gains = gain.at(i, at.lane, grid.threads);
      return HeadPair{pair.a * factor.scale * factor.r * gains.a,
                      pair.b * factor.scale * factor.r * gains.b};
    };
    if (part.cos_sin == nullptr) {
      x.assign(normed);
    } else {
      x.assign([&](int i) { return rotated(normed(i), turn.a[i], turn.b[i]); });
    }
    x.store(part.y + (at.token * at.count + at.head) * width, width, at.lane, is_held);
  }
}

/// What the backward pass reads of a head.
template <typename T>
struct HeadRow {
  HeadTile<T> dy, x;
  double rstd;

  __device__ void load(const QkvRows<T>& args, const Heads<T>& part, const HeadCursor& at) {
    const bool is_held = at.is_held && at.token < args.tokens;
    const std::int64_t head = at.token * args.heads + part.first + at.head;
    const std::int64_t from = at.token * at.count + at.head;
    dy.load(part.dy + from * args.width, at.width, at.lane, is_held);
    if (part.gain == nullptr) return;
    x.load(args.qkv + head * args.width, at.width, at.lane, is_held);
    rstd = is_held ? args.rstd[head] : 0;
  }
};

/// dy becomes the gradient of x; dgain grows.
template <typename T>
__device__ void backward_of_norm(HeadRow<T>& row, const HeadVector<T>& g,
                                 const SharedHeadVector<T>& gain, HeadVector<T>& dgain,
                                 const HeadCursor& at, int threads) {
  const auto [scale, r] = RowFactor::of(row.rstd);
  float dot = 0;
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) {
    const HeadPair x = {row.x.at(i).a * scale, row.x.at(i).b * scale};
    dgain.a[i] = fmaf(g.a[i] * r, x.a, dgain.a[i]);
    dgain.b[i] = fmaf(g.b[i] * r, x.b, dgain.b[i]);
    const HeadPair gains = gain.at(i, at.lane, threads);
    dot = fmaf(g.a[i] * gains.a, x.a * r, dot);
    dot = fmaf(g.b[i] * gains.b, x.b * r, dot);
  }
  row.x.a.forget();
  row.x.b.forget();
  const float mean = warp_total(dot, threads) / static_cast<float>(at.width);
  row.dy.assign([&](int i) {
    const HeadPair x = row.x.at(i), gains = gain.at(i, at.lane, threads);
    return HeadPair{(g.a[i] * gains.a - x.a * scale * r * mean) * r * scale,
                    (g.b[i] * gains.b - x.b * scale * r * mean) * r * scale};
  });
}

/// Adds the sums of all threads with the same columns, and writes the totals of the block.
template <typename T>
__device__ void store_head_sums(HeadVector<T>& sums, float* partials, const HeadCursor& at,
                                int threads) {
  constexpr int kWarps = kHeadThreads / kWarpThreads;
  __shared__ float shared[kWarps][kWarpThreads * 2 * kPack<T>];
  const int me = static_cast<int>(threadIdx.x), warp = me / kWarpThreads;
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) {
    for (int step = threads; step < kWarpThreads; step *= 2) {
      sums.a[i] += __shfl_xor_sync(0xffffffffU, sums.a[i], step);
      sums.b[i] += __shfl_xor_sync(0xffffffffU, sums.b[i], step);
    }
    if (me % kWarpThreads < threads && at.is_held) {
      shared[warp][at.lane * kPack<T> + i] = sums.a[i];
      shared[warp][at.width / 2 + at.lane * kPack<T> + i] = sums.b[i];
    }
  }
  __syncthreads();
  for (int column = me; column < at.width; column += kHeadThreads) {
    float sum = 0;
    for (int k = 0; k < kWarps; ++k) sum += shared[k][column];
    partials[column] = sum;
  }
}

template <typename T>
__global__ void __launch_bounds__(kHeadThreads, kBackwardBlocks)
    backward_tile_kernel(const __grid_constant__ QkvRows<T> args, HeadGrid grid) {
  const auto mine = HeadBlock::of(grid);
  const Heads<T>& part = args.part[mine.part];
  const int width = static_cast<int>(args.width);
  auto at = HeadCursor::of(args, mine, grid.threads);
  __shared__ typename SharedHeadVector<T>::Memory memory;
  const auto gain = SharedHeadVector<T>::of(memory, part.gain, width, grid.threads);
  __syncthreads();
  HeadVector<T> dgain, turn, g;
  dgain.fill(0);
  HeadRow<T> row, next;
  next.load(args, part, at);
  while (at.turns > 0) {
    row = next;
    const bool is_held = at.is_held && at.token < args.tokens;
    T* const to = args.dqkv + (at.token * args.heads + part.first + at.head) * width;
    if (part.cos_sin != nullptr) {
      turn.load(part.cos_sin + std::int64_t{at.position} * width, width, at.lane, is_held);
    }
    --at.turns;
    at.advance();
    next.load(args, part, at);
    if (part.cos_sin == nullptr) {
      g.set([&](int i) { return row.dy.at(i); });
    } else {
      g.set([&](int i) { return rotated(row.dy.at(i), turn.a[i], -turn.b[i]); });
    }
    if (part.gain != nullptr) {
      backward_of_norm(row, g, gain, dgain, at, grid.threads);
    } else {
      row.dy.assign([&](int i) { return HeadPair{g.a[i], g.b[i]}; });
    }
    row.dy.store(to, width, at.lane, is_held);
  }
  if (part.dgain != nullptr) {
    store_head_sums(dgain, part.dgain + std::int64_t{mine.number} * width, at, grid.threads);
  }
}

constexpr std::int64_t kMostTurns =
    256;  // of a thread: float sums of so many terms are exact enough

/// The blocks that share `count` of the `heads` of a token.
template <typename T>
std::int64_t head_blocks(std::int64_t tokens, std::int64_t count, std::int64_t heads,
                         std::int64_t width, int resident_blocks) {
  const int threads = threads_of_head<T>(width);
  const std::int64_t groups = threads == 0 ? 1 : kHeadThreads / threads;
  const std::int64_t resident = std::int64_t{multiprocessor_count()} * resident_blocks;
  const auto share = std::max<std::int64_t>(1, resident * count / heads);
  const auto items = tokens * count;
  const auto waves = std::max<std::int64_t>(1, blocks_of(items, share * groups * kMostTurns));
  return std::min(waves * share, blocks_of(items, groups));
}

/// Whether head_tile.cuh takes these heads.
template <typename T>
bool takes_tiles(const QkvRows<T>& args) {
  const auto takes = [](const Heads<T>& part) {
    return are_aligned(part.cos_sin, part.y, part.dy);
  };
  return threads_of_head<T>(args.width) != 0 && are_aligned(args.qkv, args.dqkv) &&
         takes(args.part[0]) && takes(args.part[1]) && takes(args.part[2]);
}

}  // namespace

template <typename T>
std::int64_t head_partials(std::int64_t tokens, std::int64_t count, std::int64_t heads,
                           std::int64_t width) {
  return head_blocks<T>(tokens, count, heads, width, kBackwardBlocks);
}

template <typename T>
cudaError_t qkv_norm_rope(const QkvRows<T>& args, cudaStream_t stream) {
  if (args.tokens == 0) return cudaSuccess;
  if constexpr (!std::is_same_v<T, double>) {
    if (takes_tiles(args)) {
      HeadGrid grid{.threads = threads_of_head<T>(args.width), .blocks = {}};
      for (int p = 0; p < 3; ++p) {
        grid.blocks[p] = static_cast<int>(head_blocks<T>(args.tokens, args.part[p].count,
                                                         args.heads, args.width, kForwardBlocks));
      }
      forward_tile_kernel<T>
          <<<static_cast<unsigned>(grid.all()), kHeadThreads, 0, stream>>>(args, grid);
      return cudaGetLastError();
    }
  }
  return norm_rope_by_element(args, stream);
}

template <typename T>
cudaError_t qkv_norm_rope_backward(const QkvRows<T>& args, cudaStream_t stream) {
  if (args.tokens == 0) return cudaSuccess;
  if constexpr (!std::is_same_v<T, double>) {
    if (takes_tiles(args)) {
      HeadGrid grid{.threads = threads_of_head<T>(args.width), .blocks = {}};
      for (int p = 0; p < 3; ++p) grid.blocks[p] = static_cast<int>(args.part[p].partials);
      backward_tile_kernel<T>
          <<<static_cast<unsigned>(grid.all()), kHeadThreads, 0, stream>>>(args, grid);
      return cudaGetLastError();
    }
  }
  return norm_rope_backward_by_element(args, stream);
}

#define EK_INSTANTIATE(T)                                                                         \
  template std::int64_t head_partials<T>(std::int64_t, std::int64_t, std::int64_t, std::int64_t); \
  template cudaError_t qkv_norm_rope(const QkvRows<T>&, cudaStream_t);                            \
  template cudaError_t qkv_norm_rope_backward(const QkvRows<T>&, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
