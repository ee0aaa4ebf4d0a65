// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/grouped_weight_gradient.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_product.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// A block of 4 warps makes 128 x 128 sums, a warp 64 x 64. The rows of dy and x come 32 at a time
/// into shared memory, three such steps ahead of the products.
constexpr int kTile = 128, kWarpTile = 64, kDepth = 32, kStages = 4;
constexpr int kPitch = kTile + 8;  // rows of shared memory begin in different banks
constexpr int kOperand = kDepth * kPitch, kStage = 2 * kOperand;
constexpr int kProductThreads = 128, kProductWarps = kProductThreads / 32;
constexpr int kSharedBytes = kStages * kStage * static_cast<int>(sizeof(__nv_bfloat16));
constexpr int kFragments = kWarpTile / kProductTile;

/// The part of a matrix [.., width] whose rows begin .. end are copied, columns from `column` on.
struct CopiedOperand {
  const __nv_bfloat16* from;
  std::int64_t width, column;

  /// Starts the copies of rows `first` to first + kDepth into `to`; rows beyond `end` are zeros.
  __device__ void start(__nv_bfloat16* to, std::int64_t first, std::int64_t end) const {
    constexpr int kPacks = kTile / kVectorSize<__nv_bfloat16>;  // of a row
#pragma unroll
    for (int i = threadIdx.x; i < kDepth * kPacks; i += kProductThreads) {
      const int row = i / kPacks, at = i % kPacks * kVectorSize<__nv_bfloat16>;
      const bool is_zero = first + row >= end || column + at >= width;
      const auto* const source = is_zero ? from : from + (first + row) * width + column + at;
      start_copy(to + row * kPitch + at, source, is_zero);
    }
  }
};

/// The block's group, and the place of its tile of sums.
struct GradientTile {
  std::int64_t group, row, column;
};
__device__ GradientTile gradient_tile(const GroupedWeightGradient& args) {
  const std::int64_t down = (args.rows + kTile - 1) / kTile;
  const std::int64_t across = (args.columns + kTile - 1) / kTile;
  const std::int64_t tile = blockIdx.x % (down * across);
  return {blockIdx.x / (down * across), tile / across * kTile, tile % across * kTile};
}

/// The sums of a warp, 64 x 64.
using WarpSums = ProductSums[kFragments][kFragments];

/// The place of the sums of this warp in the tile of the block.
__device__ int warp_row() {
  return static_cast<int>(threadIdx.x) / 64 * kWarpTile;
}
__device__ int warp_column() {
  return static_cast<int>(threadIdx.x) / 32 % 2 * kWarpTile;
}

/// sums = the products over the rows begin .. end.
__device__ void multiply_rows(WarpSums& sums, const CopiedOperand& dy, const CopiedOperand& x,
                              std::int64_t begin, std::int64_t end, __nv_bfloat16* shared) {
  const std::int64_t steps = (end - begin + kDepth - 1) / kDepth;
  const auto start_step = [&](std::int64_t step) {
    __nv_bfloat16* const to = shared + step % kStages * kStage;
    if (step < steps) {
      dy.start(to, begin + step * kDepth, end);
      x.start(to + kOperand, begin + step * kDepth, end);
    }
    end_copies();
  };
  for (int step = 0; step < kStages - 1; ++step) start_step(step);
#pragma unroll
  for (int m = 0; m < kFragments; ++m) {
#pragma unroll
    for (int n = 0; n < kFragments; ++n) set_to_zero(sums[m][n]);
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // the copies of all threads are there, and nobody reads the next stage
    start_step(step + kStages - 1);
    const __nv_bfloat16* const stage = shared + step % kStages * kStage;
#pragma unroll
    for (int k = 0; k < kDepth; k += kProductTile) {
      add_products(sums, stage + k * kPitch + warp_row(),
                   stage + kOperand + k * kPitch + warp_column(), kPitch);
    }
  }
  wait_for_copies<0>();
  __syncthreads();  // the stages are free
}

/// Adds 16 x 16 sums in shared memory to those at `row` and `column` of a group.
__device__ void add_fragment(const GroupedWeightGradient& args, const float* sums,
                             std::int64_t group, std::int64_t row, std::int64_t column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = lane; i < kProductTile * kProductTile / 4; i += 32) {
    const int down = i / 4, across = i % 4 * 4;
    if (row + down >= args.rows || column + across >= args.columns) continue;
    float* const to = args.sum + (group * args.rows + row + down) * args.columns + column + across;
    auto added = load_row<4>(sums + down * kProductTile + across);
    if (!args.is_first) {
      const auto before = load_row<4>(to);
#pragma unroll
      for (int k = 0; k < 4; ++k) added[k] += before[k];
    }
    store_row<4>(to, added);
  }
}

__global__ void __launch_bounds__(kProductThreads, 2)
    grouped_weight_gradient_kernel(GroupedWeightGradient args) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const auto [group, row, column] = gradient_tile(args);
  const std::int64_t begin = args.offsets[group], end = args.offsets[group + 1];
  if (begin == end && !args.is_first) return;
  WarpSums sums;
  multiply_rows(sums, {args.dy, args.rows, row}, {args.x, args.columns, column}, begin, end,
                reinterpret_cast<__nv_bfloat16*>(shared_bytes));
  constexpr int kFragment = kProductTile * kProductTile;
  float* const scratch = reinterpret_cast<float*>(shared_bytes) + threadIdx.x / 32 * kFragment;
#pragma unroll
  for (int m = 0; m < kFragments; ++m) {
#pragma unroll
    for (int n = 0; n < kFragments; ++n) {
      store_sums(scratch, sums[m][n]);
      __syncwarp();
      add_fragment(args, scratch, group, row + warp_row() + m * kProductTile,
                   column + warp_column() + n * kProductTile);
      __syncwarp();
    }
  }
}

}  // namespace

bool takes_grouped_weight_gradient(const GroupedWeightGradient& args) {
  return takes_vectors<__nv_bfloat16>(args.rows, args.dy, args.x, args.sum) &&
         takes_vectors<__nv_bfloat16>(args.columns);
}

cudaError_t add_grouped_weight_gradient(const GroupedWeightGradient& args, cudaStream_t stream) {
  static_assert(kProductWarps * kWarpTile * kWarpTile == kTile * kTile);
  const auto error = cudaFuncSetAttribute(
      grouped_weight_gradient_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  return launch_blocks(grouped_weight_gradient_kernel,
                       args.groups * blocks_of(args.rows, kTile) * blocks_of(args.columns, kTile),
                       kProductThreads, kSharedBytes, stream, args);
}

}  // namespace evenkeel::kernels::cuda
