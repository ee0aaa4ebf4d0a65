// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>

#include "evenkeel/kernels/cuda/linear_cross_entropy.cuh"
#include "evenkeel/kernels/cuda/logits_tile.cuh"
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
  T* const row = args.logits + blockIdx.x * args.stride;
  const std::int64_t target = args.targets[blockIdx.x];
  if (target < 0) {
    for (std::int64_t i = threadIdx.x; args.with_gradient && i < width; i += kThreads) {
      store(row + i, 0.0);
    }
    if (threadIdx.x == 0) write_losses(args, 0, 0);
    return;
  }
  const auto capped = [&](std::int64_t i) {
    return CappedLogit<F>(load(row + i), args.scale, args.cap);
  };
  const F chosen = target < width ? capped(target).z : static_cast<F>(NAN);
  double largest = -HUGE_VAL;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    largest = fmax(largest, static_cast<double>(capped(i).z));
  }
  const F max_logit = static_cast<F>(block_reduce(largest, Larger{}));
  const double sum = sum_over(width, [&](std::int64_t i) {
    return static_cast<double>(exponential(capped(i).z - max_logit));
  });
  const double lse = log(sum) + static_cast<double>(max_logit);
  if (threadIdx.x == 0) write_losses(args, lse - static_cast<double>(chosen), lse * lse);
  if (!args.with_gradient) return;
  __syncthreads();  // all have read the target's logit
  const F inverse_sum = static_cast<F>((1 + 2 * args.z_loss * lse) / sum);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const auto [z, slope] = capped(i);
    const F p = exponential(z - max_logit) * inverse_sum;
    store(row + i, (i == target ? p - 1 : p) * slope);
  }
}

constexpr int kOfReductions = 1024, kUsualShared = 48 * 1024 - kOfReductions;

/// The shared memory, in bytes, that a block of logits_kernel may have for a row.
std::int64_t cache_bytes() {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return kUsualShared;
  const auto error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return error == cudaSuccess ? std::max(most - kOfReductions, kUsualShared) : kUsualShared;
}

template <typename T, bool kHasCap>
cudaError_t launch_logits(const LogitsRows<T>& args, std::int64_t rows, std::int64_t width,
                          cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  const auto kernel = logits_kernel<T, kHasCap>;
  const auto most = cache_bytes();
  const auto packs = args.with_gradient ? std::min(width / kPack<T>, most / 16) : 0;
  const auto bytes = packs * 16;
  if (bytes > kUsualShared) {
    const auto error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(most));
    if (error != cudaSuccess) return error;
  }
  // Two rows that fit into a multiprocessor share its threads.
  constexpr std::int64_t kReserved = 4096;
  const int threads = 2 * bytes > most - kReserved ? kLogitsThreads : kLogitsThreads / 2;
  kernel<<<static_cast<unsigned>(rows), threads, static_cast<std::size_t>(bytes), stream>>>(
      args, width, static_cast<int>(packs));
  return cudaGetLastError();
}

}  // namespace

template <typename T>
cudaError_t cross_entropy_rows(const LogitsRows<T>& args, std::int64_t rows, std::int64_t width,
                               cudaStream_t stream) {
  if constexpr (!std::is_same_v<T, double>) {
    if (width <= INT_MAX / 2 && args.scale > 0) {
      return args.cap == 0 ? launch_logits<T, false>(args, rows, width, stream)
                           : launch_logits<T, true>(args, rows, width, stream);
    }
  }
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
