// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/affine.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <typename T>
__global__ void affine_kernel(AffineRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const double bias = args.bias == nullptr ? 0 : load(args.bias + i);
    store(args.y + offset + i, load(args.x + offset + i) * load(args.gain + i) + bias);
  }
}

}  // namespace

template <typename T>
cudaError_t affine(const AffineRows<T>& args, std::int64_t rows, std::int64_t width,
                   cudaStream_t stream) {
  return launch_rows(affine_kernel<T>, rows, stream, args, width);
}

#define EK_INSTANTIATE(T) \
  template cudaError_t affine(const AffineRows<T>&, std::int64_t, std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
