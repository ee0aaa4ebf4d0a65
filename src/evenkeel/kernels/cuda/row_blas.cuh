// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/row_blas.h: weighted rows of experts, and matrices that are
/// computed from others. Conventions as in rms_norm.cuh; each row is rounded once.
namespace evenkeel::kernels::cuda {

/// y[i] = factor[i] x[i], or factor[0] x[i] with factor_stride 0.
template <typename T>
struct ScaledRows {
  const T* x;                   // [rows, width]
  const OpMathType<T>* factor;  // [rows] or [1]
  std::int64_t factor_stride;   // 1 or 0
  T* y;                         // [rows, width], written
};
template <typename T>
cudaError_t scale_rows(const ScaledRows<T>& args, std::int64_t rows, std::int64_t width,
                       cudaStream_t stream);

/// dx[i] = factor[i] dy[i], dfactor[i] = x[i] . dy[i].
template <typename T>
struct ScaledRowsGradient {
  const T* dy;                  // [rows, width]
  const T* x;                   // [rows, width]
  const OpMathType<T>* factor;  // [rows]
  T* dx;                        // [rows, width], written
  OpMathType<T>* dfactor;       // [rows], written
};
template <typename T>
cudaError_t scale_rows_backward(const ScaledRowsGradient<T>& args, std::int64_t rows,
                                std::int64_t width, cudaStream_t stream);

/// y[i] = factor[0] x[i] - less[i] other: what is left of rows without their part along `other`.
template <typename T>
struct ReducedRows {
  const T* x;                   // [rows, width]
  const OpMathType<T>* factor;  // [1]
  const OpMathType<T>* less;    // [rows]
  const OpMathType<T>* other;   // [width]
  T* y;                         // [rows, width], written
};
template <typename T>
cudaError_t reduce_rows(const ReducedRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream);

/// dots[i] = a[i] . b[i], or a[i] . b[0] with b_stride 0, in double.
/// \tparam B  T or OpMathType<T>
template <typename T, typename B>
struct RowDots {
  const T* a;             // [rows, width]
  const B* b;             // [rows, width] or [width]
  std::int64_t b_stride;  // width or 0
  double* dots;           // [rows], written
};
template <typename T, typename B>
cudaError_t row_dots(const RowDots<T, B>& args, std::int64_t rows, std::int64_t width,
                     cudaStream_t stream);

/// w[i] = gain[i] v[i] / |v[i]|, in double; zeros stay zeros.
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2
template <typename T>
struct WeightNormRows {
  const T* v;                 // [rows, width]
  const OpMathType<T>* gain;  // [rows]
  T* w;                       // [rows, width], written
};
template <typename T>
cudaError_t weight_norm(const WeightNormRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream);

/// With u = v / |v|: dv = gain / |v| (dw - u (dw . u)), dgain = dw . u.
template <typename T>
struct WeightNormGradientRows {
  const T* dw;                // [rows, width]
  const T* v;                 // [rows, width]
  const OpMathType<T>* gain;  // [rows]
  T* dv;                      // [rows, width], written
  OpMathType<T>* dgain;       // [rows], written
};
template <typename T>
cudaError_t weight_norm_backward(const WeightNormGradientRows<T>& args, std::int64_t rows,
                                 std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
