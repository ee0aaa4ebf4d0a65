// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/adamw.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

template <typename W, typename G>
__global__ void adamw_kernel(AdamwPointers<W, G> at, std::int64_t count, AdamwFactors by) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= count) return;
  const W g = static_cast<W>(by.gradient_scale) * static_cast<W>(load(at.gradient + i));
  const W mean = at.first[i] + static_cast<W>(1 - by.beta1) * (g - at.first[i]);
  const W mean_square =
      static_cast<W>(by.beta2) * at.second[i] + static_cast<W>(1 - by.beta2) * g * g;
  const W divisor = static_cast<W>(by.root_scale) * sqrt(mean_square) + static_cast<W>(by.epsilon);
  const W weight =
      static_cast<W>(by.decay) * at.weight[i] - static_cast<W>(by.step_size) * mean / divisor;
  at.first[i] = mean;
  at.second[i] = mean_square;
  at.weight[i] = weight;
  if (at.copy != nullptr) store(at.copy + i, static_cast<double>(weight));
}

}  // namespace

template <typename W, typename G>
cudaError_t adamw(const AdamwPointers<W, G>& at, std::int64_t count, const AdamwFactors& by,
                  cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(blocks_of(count, kThreads));
  adamw_kernel<W, G><<<blocks, kThreads, 0, stream>>>(at, count, by);
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
