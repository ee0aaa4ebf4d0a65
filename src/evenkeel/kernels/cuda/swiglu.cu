// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/swiglu.cuh"
#include "evenkeel/kernels/cuda/opmath_type.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// 1 / (1 + e^-z) and 1 minus that, both without cancellation.
template <typename F>
struct Logistic {
  F value, rest;
};
template <typename F>
__device__ Logistic<F> logistic(F z) {
  const F e = exponential(z < 0 ? z : -z);
  const F large = 1 / (1 + e);
  const F small = e * large;
  return z < 0 ? Logistic<F>{small, large} : Logistic<F>{large, small};
}

template <typename T>
__global__ void forward_kernel(SwigluRows<T> of, std::int64_t inner) {
  using F = OpMathType<T>;
  const T* const up = of.products + blockIdx.x * 2 * inner;
  const T* const gate = up + inner;
  for (std::int64_t i = threadIdx.x; i < inner; i += kThreads) {
    const F z = static_cast<F>(load(gate + i));
    store(of.y + blockIdx.x * inner + i, static_cast<F>(load(up + i)) * (z * logistic(z).value));
  }
}

template <typename T>
__global__ void backward_kernel(SwigluGradientRows<T> of, std::int64_t inner) {
  using F = OpMathType<T>;
  const std::int64_t at = blockIdx.x * 2 * inner;
  const T* const up = of.products + at;
  const T* const gate = up + inner;
  for (std::int64_t i = threadIdx.x; i < inner; i += kThreads) {
    const F z = static_cast<F>(load(gate + i));
    const F upstream = static_cast<F>(load(of.dy + blockIdx.x * inner + i));
    const F factor = static_cast<F>(load(up + i));
    const auto s = logistic(z);
    const F gated = z * s.value;
    store(of.gradient + at + i, upstream * gated);
    store(of.gradient + at + inner + i, upstream * factor * (s.value * (1 + z * s.rest)));
    if (of.y != nullptr) store(of.y + blockIdx.x * inner + i, factor * gated);
  }
}

}  // namespace

template <typename T>
cudaError_t swiglu(const SwigluRows<T>& of, std::int64_t rows, std::int64_t inner,
                   cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  forward_kernel<T><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(of, inner);
  return cudaGetLastError();
}

template <typename T>
cudaError_t swiglu_backward(const SwigluGradientRows<T>& of, std::int64_t rows, std::int64_t inner,
                            cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  backward_kernel<T><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(of, inner);
  return cudaGetLastError();
}

#define EK_INSTANTIATE(T)                                                                        \
  template cudaError_t swiglu(const SwigluRows<T>&, std::int64_t, std::int64_t, cudaStream_t);   \
  template cudaError_t swiglu_backward(const SwigluGradientRows<T>&, std::int64_t, std::int64_t, \
                                       cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
