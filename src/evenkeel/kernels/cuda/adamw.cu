// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "evenkeel/kernels/cuda/adamw.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// AdamwFactors in the arithmetic of W.
template <typename W>
struct StepFactors {
  W gradient_scale, one_minus_beta1, beta2, one_minus_beta2, decay, step_size, root_scale, epsilon;

  explicit StepFactors(const AdamwFactors& of)
      : gradient_scale(static_cast<W>(of.gradient_scale)),
        one_minus_beta1(static_cast<W>(1 - of.beta1)),
        beta2(static_cast<W>(of.beta2)),
        one_minus_beta2(static_cast<W>(1 - of.beta2)),
        decay(static_cast<W>(of.decay)),
        step_size(static_cast<W>(of.step_size)),
        root_scale(static_cast<W>(of.root_scale)),
        epsilon(static_cast<W>(of.epsilon)) {}

  __device__ void update(W& weight, W& first, W& second, W gradient) const {
    const W g = gradient_scale * gradient;
    first = first + one_minus_beta1 * (g - first);
    second = beta2 * second + one_minus_beta2 * g * g;
    weight = decay * weight - step_size * first / (root_scale * sqrt(second) + epsilon);
  }
};

/// One weight a thread.
template <typename W, typename G>
__global__ void adamw_kernel(AdamwPointers<W, G> buffers, std::int64_t count,
                             StepFactors<W> factors) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= count || (buffers.device_skip != nullptr && *buffers.device_skip)) return;
  if (buffers.device_scale != nullptr) {
    factors.gradient_scale = static_cast<W>(*buffers.device_scale);
  }
  factors.update(buffers.weight[i], buffers.first[i], buffers.second[i],
                 static_cast<W>(load(buffers.gradient + i)));
  if (buffers.copy != nullptr) store(buffers.copy + i, static_cast<double>(buffers.weight[i]));
}

/// Four weights.
struct Four {
  float value[4];

  __device__ static Four load(const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    return {{four.x, four.y, four.z, four.w}};
  }
  __device__ static Four load(const __nv_bfloat16* from) {
    const uint2 raw = *reinterpret_cast<const uint2*>(from);
    return {{__uint_as_float(raw.x << 16), __uint_as_float(raw.x & 0xffff0000U),
             __uint_as_float(raw.y << 16), __uint_as_float(raw.y & 0xffff0000U)}};
  }
  __device__ void store(float* to) const {
    *reinterpret_cast<float4*>(to) = {value[0], value[1], value[2], value[3]};
  }
  __device__ void store(__nv_bfloat16* to) const {
    const __nv_bfloat162 pair[2] = {__floats2bfloat162_rn(value[0], value[1]),
                                    __floats2bfloat162_rn(value[2], value[3])};
    uint2 raw;
    memcpy(&raw, pair, sizeof(raw));
    *reinterpret_cast<uint2*>(to) = raw;
  }
};

/// Four weights a thread, in accesses of 16 bytes.
/// \param fours  of all weights
template <typename G>
__global__ void __launch_bounds__(kThreads)
    adamw_four_kernel(AdamwPointers<float, G> buffers, std::int64_t fours,
                      StepFactors<float> factors) {
  const std::int64_t four = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (four >= fours) return;
  const std::int64_t i = 4 * four;
  auto weight = Four::load(buffers.weight + i);
  auto first = Four::load(buffers.first + i);
  auto second = Four::load(buffers.second + i);
  const auto gradient = Four::load(buffers.gradient + i);
  if (buffers.device_scale != nullptr) factors.gradient_scale = *buffers.device_scale;
  if (buffers.device_skip != nullptr && *buffers.device_skip) return;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    factors.update(weight.value[k], first.value[k], second.value[k], gradient.value[k]);
  }
  weight.store(buffers.weight + i);
  first.store(buffers.first + i);
  second.store(buffers.second + i);
  if (buffers.copy != nullptr) weight.store(buffers.copy + i);
}

/// One weight a thread.
template <typename W>
__global__ void take_over_kernel(const __nv_bfloat16* copy, W* weight, std::int64_t count) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= count) return;
  __nv_bfloat16 rounded;
  store(&rounded, static_cast<double>(weight[i]));
  if (__bfloat16_as_ushort(rounded) != __bfloat16_as_ushort(copy[i])) {
    weight[i] = static_cast<W>(load(copy + i));
  }
}

/// The step for the weights from `from` on.
template <typename W, typename G>
AdamwPointers<W, G> moved(AdamwPointers<W, G> buffers, std::int64_t from) {
  buffers.weight += from;
  buffers.first += from;
  buffers.second += from;
  buffers.gradient += from;
  if (buffers.copy != nullptr) buffers.copy += from;
  return buffers;
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(blocks_of(threads, kThreads));
}

}  // namespace

template <typename W, typename G>
cudaError_t adamw(const AdamwPointers<W, G>& buffers, std::int64_t count,
                  const AdamwFactors& factors, cudaStream_t stream) {
  const StepFactors<W> of_step(factors);
  std::int64_t done = 0;
  if constexpr (std::is_same_v<W, float> && !std::is_same_v<G, double>) {
    if (count >= 4 && are_aligned(buffers.weight, buffers.first, buffers.second, buffers.gradient,
                                  buffers.copy)) {
      const std::int64_t fours = count / 4;
      adamw_four_kernel<G><<<blocks_for(fours), kThreads, 0, stream>>>(buffers, fours, of_step);
      done = 4 * fours;
    }
  }
  if (done < count) {
    adamw_kernel<W, G><<<blocks_for(count - done), kThreads, 0, stream>>>(moved(buffers, done),
                                                                          count - done, of_step);
  }
  return cudaGetLastError();
}

template <typename W>
cudaError_t take_over_bf16(const __nv_bfloat16* copy, W* weight, std::int64_t count,
                           cudaStream_t stream) {
  if (count > 0) {
    take_over_kernel<W><<<blocks_for(count), kThreads, 0, stream>>>(copy, weight, count);
  }
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
template cudaError_t take_over_bf16(const __nv_bfloat16*, double*, std::int64_t, cudaStream_t);
template cudaError_t take_over_bf16(const __nv_bfloat16*, float*, std::int64_t, cudaStream_t);

}  // namespace evenkeel::kernels::cuda
