// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/adamw.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

template <typename W, typename G>
__global__ void adamw_kernel(AdamwPointers<W, G> buffers, std::int64_t count,
                             AdamwFactors factors) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= count) return;
  const W g = static_cast<W>(factors.gradient_scale) * static_cast<W>(load(buffers.gradient + i));
  const W mean = buffers.first[i] + static_cast<W>(1 - factors.beta1) * (g - buffers.first[i]);
  const W mean_square =
      static_cast<W>(factors.beta2) * buffers.second[i] + static_cast<W>(1 - factors.beta2) * g * g;
  const W divisor =
      static_cast<W>(factors.root_scale) * sqrt(mean_square) + static_cast<W>(factors.epsilon);
  const W weight = static_cast<W>(factors.decay) * buffers.weight[i] -
                   static_cast<W>(factors.step_size) * mean / divisor;
  buffers.first[i] = mean;
  buffers.second[i] = mean_square;
  buffers.weight[i] = weight;
  if (buffers.copy != nullptr) store(buffers.copy + i, static_cast<double>(weight));
}

}  // namespace

template <typename W, typename G>
cudaError_t adamw(const AdamwPointers<W, G>& buffers, std::int64_t count,
                  const AdamwFactors& factors, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(blocks_of(count, kThreads));
  adamw_kernel<W, G><<<blocks, kThreads, 0, stream>>>(buffers, count, factors);
  return cudaGetLastError();
}

#define EK_INSTANTIATE(W, G)                                                                \
  template cudaError_t adamw(const AdamwPointers<W, G>&, std::int64_t, const AdamwFactors&, \
                             cudaStream_t);
EK_INSTANTIATE(double, double)
EK_INSTANTIATE(double, float)
EK_INSTANTIATE(double, __nv_bfloat16)
EK_INSTANTIATE(float, double)
EK_INSTANTIATE(float, float)
EK_INSTANTIATE(float, __nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
