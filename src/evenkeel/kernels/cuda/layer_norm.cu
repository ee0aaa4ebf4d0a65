// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/layer_norm.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <typename T>
__global__ void forward_kernel(LayerNormRows<T> args, std::int64_t width, double epsilon) {
  const std::int64_t offset = blockIdx.x * width;
  const T* const x = args.x + offset;
  const auto features = static_cast<double>(width);
  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };

  double mean = sum_over(width, scaled) / features;
  if constexpr (std::is_same_v<T, double>) {
    // The sum of equal doubles is not exact, as that of floats is: take up what was rounded off.
    mean += sum_over(width, [=](std::int64_t i) { return scaled(i) - mean; }) / features;
  }
  const double squares = sum_over(width, [=](std::int64_t i) {
    const double deviation = scaled(i) - mean;
    return deviation * deviation;
  });
  const double rstd = inverse_root(squares / features + epsilon * scale * scale);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    store(args.y + offset + i,
          (scaled(i) - mean) * rstd * load(args.gain + i) + load(args.bias + i));
  }
  if (threadIdx.x == 0) {
    args.mean[blockIdx.x] = mean / scale;
    args.rstd[blockIdx.x] = rstd * scale;
  }
}

template <typename T>
__global__ void backward_kernel(LayerNormGradientRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  const auto features = static_cast<double>(width);
  const double mean = args.mean[blockIdx.x];
  const double rstd = args.rstd[blockIdx.x];
  const auto x_hat = [=](std::int64_t i) { return (load(args.x + offset + i) - mean) * rstd; };
  const auto g = [=](std::int64_t i) { return load(args.dy + offset + i) * load(args.gain + i); };

  const double mean_g = sum_over(width, g) / features;
  const double slope = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); }) / features;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    store(args.dx + offset + i, rstd * (g(i) - mean_g - x_hat(i) * slope));
  }
}

}  // namespace

template <typename T>
cudaError_t layer_norm_forward(const LayerNormRows<T>& args, std::int64_t rows, std::int64_t width,
                               double epsilon, cudaStream_t stream) {
  return launch_rows(forward_kernel<T>, rows, stream, args, width, epsilon);
}

template <typename T>
cudaError_t layer_norm_backward(const LayerNormGradientRows<T>& args, std::int64_t rows,
                                std::int64_t width, cudaStream_t stream) {
  return launch_rows(backward_kernel<T>, rows, stream, args, width);
}

#define EK_INSTANTIATE(T)                                                                      \
  template cudaError_t layer_norm_forward(const LayerNormRows<T>&, std::int64_t, std::int64_t, \
                                          double, cudaStream_t);                               \
  template cudaError_t layer_norm_backward(const LayerNormGradientRows<T>&, std::int64_t,      \
                                           std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
