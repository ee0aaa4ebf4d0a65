// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/rms_norm.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <typename T>
__global__ void forward_kernel(RmsNormRows<T> args, std::int64_t width, double epsilon) {
  const std::int64_t offset = blockIdx.x * width;
  const T* x = args.x + offset;
  if (args.branch != nullptr) {
    T* const sum = args.sum + offset;
    for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
      store(sum + i, load(x + i) + load(args.branch + offset + i));
    }
    x = sum;  // below, each thread reads only what it wrote itself
  }

  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };
  const double squares = sum_over(width, [=](std::int64_t i) { return scaled(i) * scaled(i); });
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon * scale * scale);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    store(args.y + offset + i, scaled(i) * rstd * load(args.gain + i));
  }
  if (threadIdx.x == 0) args.rstd[blockIdx.x] = rstd * scale;
}

template <typename T>
__global__ void backward_kernel(RmsNormGradientRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  const double rstd = args.rstd[blockIdx.x];
  const auto x_hat = [=](std::int64_t i) { return load(args.x + offset + i) * rstd; };
  const auto g = [=](std::int64_t i) { return load(args.dy + offset + i) * load(args.gain + i); };

  const double dot = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); });
  const double mean = dot / static_cast<double>(width);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const double skip = args.skip == nullptr ? 0 : load(args.skip + offset + i);
    store(args.dx + offset + i, skip + rstd * (g(i) - x_hat(i) * mean));
  }
}

}  // namespace

template <typename T>
cudaError_t rms_norm_forward(const RmsNormRows<T>& args, std::int64_t rows, std::int64_t width,
                             double epsilon, cudaStream_t stream) {
  return launch_rows(forward_kernel<T>, rows, stream, args, width, epsilon);
}

template <typename T>
cudaError_t rms_norm_backward(const RmsNormGradientRows<T>& args, std::int64_t rows,
                              std::int64_t width, cudaStream_t stream) {
  return launch_rows(backward_kernel<T>, rows, stream, args, width);
}

#define EK_INSTANTIATE(T)                                                                          \
  template cudaError_t rms_norm_forward(const RmsNormRows<T>&, std::int64_t, std::int64_t, double, \
                                        cudaStream_t);                                             \
  template cudaError_t rms_norm_backward(const RmsNormGradientRows<T>&, std::int64_t,              \
                                         std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
