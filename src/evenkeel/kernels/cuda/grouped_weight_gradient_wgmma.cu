// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/grouped_weight_gradient.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_product.cuh"
#include "evenkeel/kernels/cuda/warpgroup_product.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// A block of 2 warpgroups makes 128 x 256 sums, a warpgroup 64 x 256. The rows of dy and x come 64
/// at a time into shared memory. Of four such stages two are on their way, one is multiplied, and
/// one may still be read by the other warpgroup.
constexpr int kWarpgroups = 2, kWarpgroupThreads = 128, kThreads = kWarpgroups * kWarpgroupThreads;
constexpr int kTileRows = kWarpgroups * kWarpgroupRows, kTileColumns = kWarpgroupColumns;
constexpr int kStages = 4, kAhead = kStages - 2;
constexpr int kLeftPanels = kTileRows / kPanelWidth, kRightPanels = kTileColumns / kPanelWidth;
constexpr int kStageSize = (kLeftPanels + kRightPanels) * kPanelSize;
constexpr int kAlignment = 1024;
constexpr int kSharedBytes =
    kStages * kStageSize * static_cast<int>(sizeof(__nv_bfloat16)) + kAlignment;

/// Columns `column` on of a matrix [.., width] that are copied into panels.
template <int kPanels>
struct PanelSource {
  const __nv_bfloat16* from;
  std::int64_t width, column;

  /// Starts the copies of rows `first` to first + kPanelRows; rows beyond `end` are zeros.
  __device__ void start(__nv_bfloat16* to, std::int64_t first, std::int64_t end) const {
    constexpr int kPacks = kPanels * kPanelWidth / kPanelPack;  // of a row
#pragma unroll
    for (int i = threadIdx.x; i < kPanelRows * kPacks; i += kThreads) {
      const int row = i / kPacks, pack = i % kPacks;
      const int panel = pack / kPanelPack, place = panel_place(row, pack % kPanelPack);
      const std::int64_t at = column + pack * kPanelPack;
      const bool is_zero = first + row >= end || at >= width;
      start_copy(to + panel * kPanelSize + place,
                 is_zero ? from : from + (first + row) * width + at, is_zero);
    }
  }
};

/// sums = the products of this warpgroup over the rows begin .. end.
__device__ void multiply_group(float (&sums)[kWarpgroupSums], const PanelSource<kLeftPanels>& dy,
                               const PanelSource<kRightPanels>& x, std::int64_t begin,
                               std::int64_t end, __nv_bfloat16* shared) {
  const std::int64_t steps = (end - begin + kPanelRows - 1) / kPanelRows;
  const auto start_step = [&](std::int64_t step) {
    __nv_bfloat16* const to = shared + step % kStages * kStageSize;
    if (step < steps) {
      dy.start(to, begin + step * kPanelRows, end);
      x.start(to + kLeftPanels * kPanelSize, begin + step * kPanelRows, end);
    }
    end_copies();
  };
#pragma unroll
  for (int i = 0; i < kWarpgroupSums; ++i) sums[i] = 0;
  for (int step = 0; step < kAhead; ++step) start_step(step);
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroupThreads;
  for (std::int64_t step = 0; step < steps; ++step) {
    wait_for_copies<kAhead - 1>();
    publish_panels();
    // The copies of all threads are there, and all have waited for the products of step - 2, which
    // read the stage that is filled now.
    __syncthreads();
    start_step(step + kAhead);
    const __nv_bfloat16* const stage = shared + step % kStages * kStageSize;
    start_products(sums, stage + warpgroup * kPanelSize, stage + kLeftPanels * kPanelSize);
    wait_for_products<1>(sums);
  }
  wait_for_products<0>(sums);
}

/// Adds the sums of a thread to those of a group, or writes them.
/// \param row, column  of the tile of this warpgroup
__device__ void add_sums(const GroupedWeightGradient& args, const float (&sums)[kWarpgroupSums],
                         std::int64_t group, std::int64_t row, std::int64_t column) {
  constexpr int kBatch = 16;  // pairs that are read before any is written
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int first = 0; first < kWarpgroupSums; first += 2 * kBatch) {
    float2* to[kBatch];
    float2 before[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + 2 * k;
      const std::int64_t down = row + warpgroup_row(thread, i);
      const std::int64_t across = column + warpgroup_column(thread, i);
      const bool is_inside = down < args.rows && across < args.columns;
      to[k] = !is_inside ? nullptr
                         : reinterpret_cast<float2*>(
                               args.sum + (group * args.rows + down) * args.columns + across);
      before[k] = is_inside && !args.is_first ? *to[k] : float2{0, 0};
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + 2 * k;
      if (to[k] != nullptr) *to[k] = {before[k].x + sums[i], before[k].y + sums[i + 1]};
    }
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    grouped_weight_gradient_wgmma_kernel(GroupedWeightGradient args) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  const std::int64_t down = (args.rows + kTileRows - 1) / kTileRows;
  const std::int64_t across = (args.columns + kTileColumns - 1) / kTileColumns;
  const std::int64_t group = blockIdx.x / (down * across), tile = blockIdx.x % (down * across);
  const std::int64_t row = tile / across * kTileRows, column = tile % across * kTileColumns;
  const std::int64_t begin = args.offsets[group], end = args.offsets[group + 1];
  if (begin == end && !args.is_first) return;
  const auto address = reinterpret_cast<std::uintptr_t>(shared_bytes);
  auto* const shared = reinterpret_cast<__nv_bfloat16*>(
      shared_bytes + (kAlignment - address % kAlignment) % kAlignment);
  float sums[kWarpgroupSums];
  multiply_group(sums, {args.dy, args.rows, row}, {args.x, args.columns, column}, begin, end,
                 shared);
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroupThreads;
  add_sums(args, sums, group, row + warpgroup * kWarpgroupRows, column);
}

/// True on a GPU that has the instruction, if the program has the kernel for it.
bool has_warpgroup_products() {
#if defined(EK_HAS_SM_90A)
  static const bool has = [] {
    int device = 0, major = 0, minor = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) ==
               cudaSuccess &&
           major == 9 && minor == 0;
  }();
  return has;
#elif defined(__CUDACC__)
  return false;
#else
  return true;  // plain loops
#endif
}

}  // namespace

bool takes_warpgroup_gradient(const GroupedWeightGradient& args) {
  return args.rows >= kWarpgroupRows && args.columns >= kWarpgroupColumns / 2 &&
         takes_grouped_weight_gradient(args) && has_warpgroup_products();
}

cudaError_t add_warpgroup_gradient(const GroupedWeightGradient& args, cudaStream_t stream) {
  const auto error =
      cudaFuncSetAttribute(grouped_weight_gradient_wgmma_kernel,
                           cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  return launch_blocks(
      grouped_weight_gradient_wgmma_kernel,
      args.groups * blocks_of(args.rows, kTileRows) * blocks_of(args.columns, kTileColumns),
      kThreads, kSharedBytes, stream, args);
}

}  // namespace evenkeel::kernels::cuda
