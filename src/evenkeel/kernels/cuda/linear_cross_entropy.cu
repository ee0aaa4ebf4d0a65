// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/linear_cross_entropy.cuh"
#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// The input of the softmax, and its derivative with respect to the logit.
template <typename F>
struct CappedLogit {
  F z, slope;
  __device__ CappedLogit(double logit, double scale, double cap) {
    const F x = static_cast<F>(scale * logit);
    if (cap == 0) {
      z = x;
      slope = static_cast<F>(scale);
      return;
    }
    const F t = tanh(x / static_cast<F>(cap));
    z = static_cast<F>(cap) * t;
    slope = static_cast<F>(scale) * (1 - t * t);
  }
};

template <typename T>
__global__ void rows_kernel(LogitsRows<T> args, std::int64_t width) {
  using F = OpMathType<T>;
  T* const row = args.logits + blockIdx.x * width;
  const std::int64_t target = args.targets[blockIdx.x];
  if (target < 0) {
    for (std::int64_t i = threadIdx.x; args.with_gradient && i < width; i += kThreads) {
      store(row + i, 0.0);
    }
    if (threadIdx.x == 0) args.losses[blockIdx.x] = 0;
    return;
  }
  const auto capped = [&](std::int64_t i) {
    return CappedLogit<F>(load(row + i), args.scale, args.cap);
  };
  const F chosen = capped(target).z;
  double largest = -HUGE_VAL;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    largest = fmax(largest, static_cast<double>(capped(i).z));
  }
  const F max_logit = static_cast<F>(block_reduce(largest, Larger{}));
  const double sum = sum_over(width, [&](std::int64_t i) {
    return static_cast<double>(exponential(capped(i).z - max_logit));
  });
  if (threadIdx.x == 0) {
    args.losses[blockIdx.x] =
        log(sum) + static_cast<double>(max_logit) - static_cast<double>(chosen);
  }
  if (!args.with_gradient) return;
  __syncthreads();  // all have read the target's logit
  const F inverse_sum = static_cast<F>(1 / sum);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const auto [z, slope] = capped(i);
    const F p = exponential(z - max_logit) * inverse_sum;
    store(row + i, (i == target ? p - 1 : p) * slope);
  }
}

}  // namespace

template <typename T>
cudaError_t cross_entropy_rows(const LogitsRows<T>& args, std::int64_t rows, std::int64_t width,
                               cudaStream_t stream) {
  return launch_rows(rows_kernel<T>, rows, stream, args, width);
}

#define EK_INSTANTIATE(T)                                                                   \
  template cudaError_t cross_entropy_rows(const LogitsRows<T>&, std::int64_t, std::int64_t, \
                                          cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
