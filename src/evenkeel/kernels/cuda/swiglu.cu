// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"
#include "evenkeel/kernels/cuda/swiglu.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// 1 / (1 + e^-z) and 1 minus that, both without cancellation.
template <typename F>
struct Sigmoid {
  F value, complement;
};
__device__ inline double reciprocal(double x) {
  return 1 / x;
}
/// \param x  in [1, 2]: a step of Newton's method makes up for the fast division
__device__ inline float reciprocal(float x) {
  const float r = __fdividef(1, x);
  return fmaf(r, fmaf(-x, r, 1), r);
}

template <typename F>
__device__ Sigmoid<F> sigmoid(F z) {
  const F e = exponential(z < 0 ? z : -z);
  const F large = reciprocal(1 + e);
  const F small = e * large;
  return z < 0 ? Sigmoid<F>{small, large} : Sigmoid<F>{large, small};
}

/// One value of y, and its derivatives times `upstream`.
template <typename F>
struct SwigluValue {
  F y, dup, dgate;

  __device__ SwigluValue(F upstream, F up, F gate) {
    const auto s = sigmoid(gate);
    const F gated = gate * s.value;
    y = up * gated;
    dup = upstream * gated;
    dgate = upstream * up * (s.value * (1 + gate * s.complement));
  }
};

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
    const SwigluValue<F> value(static_cast<F>(load(args.dy + blockIdx.x * ffn_width + i)),
                               static_cast<F>(load(up + i)), static_cast<F>(load(gate + i)));
    store(args.gradient + offset + i, value.dup);
    store(args.gradient + offset + ffn_width + i, value.dgate);
    if (args.y != nullptr) store(args.y + blockIdx.x * ffn_width + i, value.y);
  }
}

/// Blocks of threads in a grid of rows and equal parts of a row; a thread takes two packs.
struct PackGrid {
  std::int64_t ffn_width;
  int packs, threads, parts;  // of a row

  template <typename T>
  static PackGrid of(std::int64_t ffn_width) {
    constexpr int kMost = 256;
    const auto packs = static_cast<int>(ffn_width / kPack<T>);
    const auto parts = static_cast<int>(blocks_of(packs, 2 * kMost));
    const auto warps = static_cast<int>(blocks_of(packs, std::int64_t{parts} * 2 * kWarpThreads));
    return {ffn_width, packs, warps * kWarpThreads, parts};
  }
};

/// The packs of a thread: first, and first + blockDim.x.
struct PackThread {
  std::int64_t row;
  int first;

  __device__ static PackThread of(const PackGrid& grid) {
    const auto row = blockIdx.x / static_cast<unsigned>(grid.parts);
    const auto part = static_cast<int>(blockIdx.x - row * static_cast<unsigned>(grid.parts));
    return {row, part * 2 * grid.threads + static_cast<int>(threadIdx.x)};
  }
};

template <typename T>
__global__ void __launch_bounds__(256) forward_pack_kernel(SwigluRows<T> args, PackGrid grid) {
  const auto thread = PackThread::of(grid);
  const T* const up = args.up_gate + thread.row * 2 * grid.ffn_width;
  RowPack<T> ups[2], gates[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int pack = thread.first + k * grid.threads;
    if (pack >= grid.packs) continue;
    ups[k] = RowPack<T>::load(up + pack * kPack<T>);
    gates[k] = RowPack<T>::load(up + grid.ffn_width + pack * kPack<T>);
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int pack = thread.first + k * grid.threads;
    if (pack >= grid.packs) continue;
    float y[kPack<T>];
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      const float z = gates[k].at(i);
      y[i] = ups[k].at(i) * (z * sigmoid(z).value);
    }
    RowPack<T>::of(y).store(args.y + thread.row * grid.ffn_width + pack * kPack<T>);
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
    backward_pack_kernel(SwigluGradientRows<T> args, PackGrid grid) {
  const auto thread = PackThread::of(grid);
  const std::int64_t row = thread.row * 2 * grid.ffn_width, half = thread.row * grid.ffn_width;
  RowPack<T> ups[2], gates[2], upstream[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int pack = thread.first + k * grid.threads;
    if (pack >= grid.packs) continue;
    ups[k] = RowPack<T>::load(args.up_gate + row + pack * kPack<T>);
    gates[k] = RowPack<T>::load(args.up_gate + row + grid.ffn_width + pack * kPack<T>);
    upstream[k] = RowPack<T>::load(args.dy + half + pack * kPack<T>);
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const int pack = thread.first + k * grid.threads;
    if (pack >= grid.packs) continue;
    float y[kPack<T>], dup[kPack<T>], dgate[kPack<T>];
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      const SwigluValue<float> value(upstream[k].at(i), ups[k].at(i), gates[k].at(i));
      y[i] = value.y;
      dup[i] = value.dup;
      dgate[i] = value.dgate;
    }
    RowPack<T>::of(dup).store(args.gradient + row + pack * kPack<T>);
    RowPack<T>::of(dgate).store(args.gradient + row + grid.ffn_width + pack * kPack<T>);
    if (args.y != nullptr) RowPack<T>::of(y).store(args.y + half + pack * kPack<T>);
  }
}

/// Whether rows of this width, and these addresses, are in packs.
template <typename T, typename... Pointers>
bool takes_packs(std::int64_t ffn_width, const Pointers*... pointers) {
  constexpr std::int64_t kMost = 1 << 24;  // far from overflow
  return !std::is_same_v<T, double> && ffn_width > 0 && ffn_width % kPack<T> == 0 &&
         ffn_width <= kMost && are_aligned(pointers...);
}

template <typename T, typename Args>
cudaError_t launch_packs(void (*kernel)(Args, PackGrid), const Args& args, std::int64_t rows,
                         std::int64_t ffn_width, cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  const auto grid = PackGrid::of<T>(ffn_width);
  const auto blocks = static_cast<unsigned>(rows * grid.parts);
  kernel<<<blocks, static_cast<unsigned>(grid.threads), 0, stream>>>(args, grid);
  return cudaGetLastError();
}

}  // namespace

template <typename T>
cudaError_t swiglu(const SwigluRows<T>& args, std::int64_t rows, std::int64_t ffn_width,
                   cudaStream_t stream) {
  if constexpr (!std::is_same_v<T, double>) {
    if (takes_packs<T>(ffn_width, args.up_gate, args.y)) {
      return launch_packs<T>(forward_pack_kernel<T>, args, rows, ffn_width, stream);
    }
  }
  return launch_rows(forward_kernel<T>, rows, stream, args, ffn_width);
}

template <typename T>
cudaError_t swiglu_backward(const SwigluGradientRows<T>& args, std::int64_t rows,
                            std::int64_t ffn_width, cudaStream_t stream) {
  if constexpr (!std::is_same_v<T, double>) {
    if (takes_packs<T>(ffn_width, args.dy, args.up_gate, args.gradient, args.y)) {
      return launch_packs<T>(backward_pack_kernel<T>, args, rows, ffn_width, stream);
    }
  }
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
