// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/swiglu.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// 1 / (1 + e^-z) and 1 minus that, both without cancellation.
template <typename F>
struct Sigmoid {
  F value, complement;
};
template <typename F>
__device__ Sigmoid<F> sigmoid(F z) {
  const F e = exponential(z < 0 ? z : -z);
  const F large = 1 / (1 + e);
  const F small = e * large;
  return z < 0 ? Sigmoid<F>{small, large} : Sigmoid<F>{large, small};
}

template <typename T>
__global__ void forward_kernel(SwigluRows<T> args, std::int64_t ffn_width) {
  using F = OpMathType<T>;
  const T* const up = args.up_gate + blockIdx.x * 2 * ffn_width;
  const T* const gate = up + ffn_width;
  for (std::int64_t i = threadIdx.x; i < ffn_width; i += kThreads) {
    const F z = static_cast<F>(load(gate + i));
    store(args.y + blockIdx.x * ffn_width + i,
          static_cast<F>(load(up + i)) * (z * sigmoid(z).value));
  }
}

template <typename T>
__global__ void backward_kernel(SwigluGradientRows<T> args, std::int64_t ffn_width) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * 2 * ffn_width;
  const T* const up = args.up_gate + offset;
  const T* const gate = up + ffn_width;
  for (std::int64_t i = threadIdx.x; i < ffn_width; i += kThreads) {
    const F z = static_cast<F>(load(gate + i));
    const F upstream = static_cast<F>(load(args.dy + blockIdx.x * ffn_width + i));
    const F factor = static_cast<F>(load(up + i));
    const auto s = sigmoid(z);
    const F gated = z * s.value;
    store(args.gradient + offset + i, upstream * gated);
    store(args.gradient + offset + ffn_width + i,
          upstream * factor * (s.value * (1 + z * s.complement)));
    if (args.y != nullptr) store(args.y + blockIdx.x * ffn_width + i, factor * gated);
  }
}

}  // namespace

template <typename T>
cudaError_t swiglu(const SwigluRows<T>& args, std::int64_t rows, std::int64_t ffn_width,
                   cudaStream_t stream) {
  return launch_rows(forward_kernel<T>, rows, stream, args, ffn_width);
}

template <typename T>
cudaError_t swiglu_backward(const SwigluGradientRows<T>& args, std::int64_t rows,
                            std::int64_t ffn_width, cudaStream_t stream) {
  return launch_rows(backward_kernel<T>, rows, stream, args, ffn_width);
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
