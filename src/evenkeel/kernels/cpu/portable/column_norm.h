// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// Norms over columns, by blocks of rows. Every function takes `rows` rows of `width` values;
/// statistics of columns are arrays of `width` doubles.

/// sums += x - centre, and sums += (x - centre)^2.
template <typename T>
void add_column_sums(const T* x, const double* centre, double* sums, std::int64_t rows,
                     std::int64_t width);
template <typename T>
void add_column_squares(const T* x, const double* centre, double* sums, std::int64_t rows,
                        std::int64_t width);

/// y = gain * (x - centre) * rho + bias
struct ColumnNormParameters {
  const double *centre, *rho, *gain, *bias;
};
template <typename T>
void column_norm_rows(const T* x, const ColumnNormParameters& parameters, T* y, std::int64_t rows,
                      std::int64_t width);

/// dgain += dy * x_hat, dbias += dy, with x_hat = (x - centre) * rho.
template <typename T>
void add_column_gradients(const T* dy, const T* x, const ColumnNormParameters& parameters,
                          double* dgain, double* dbias, std::int64_t rows, std::int64_t width);

/// dx = gain * (rho * (dy - mean) - x_hat * projection): mean of dy and projection = slope * sum(dy
/// * x_hat) over the whole column.
struct ColumnProjections {
  const double *mean, *projection;
};
template <typename T>
void column_norm_rows_backward(const T* dy, const T* x, const ColumnNormParameters& parameters,
                               const ColumnProjections& projections, T* dx, std::int64_t rows,
                               std::int64_t width);

}  // namespace evenkeel::kernels::cpu
