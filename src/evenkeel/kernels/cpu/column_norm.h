// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/simd.h"

namespace evenkeel::kernels::cpu {

/// Norms of columns, block by block of rows: every function takes `rows` rows of `width` values,
/// and what belongs to a column stands in arrays of `width` doubles.

/// sums += x - centre, and sums += (x - centre)^2.
template <typename T>
void add_columns(const T* x, const double* centre, double* sums, std::int64_t rows,
                 std::int64_t width);
template <typename T>
void add_column_squares(const T* x, const double* centre, double* sums, std::int64_t rows,
                        std::int64_t width);

/// y = gain * (x - centre) * rho + bias
struct Columns {
  const double *centre, *rho, *gain, *bias;
};
template <typename T>
void column_norm_rows(const T* x, const Columns& by, T* y, std::int64_t rows, std::int64_t width);

/// dgain += dy * x_hat, dbias += dy, with x_hat = (x - centre) * rho.
template <typename T>
void add_column_gradients(const T* dy, const T* x, const Columns& by, double* dgain, double* dbias,
                          std::int64_t rows, std::int64_t width);

/// dx = gain * (rho * (dy - mean) - x_hat * bend): mean of dy and bend = slope * sum(dy * x_hat)
/// over the whole column.
struct ColumnBends {
  const double *mean, *bend;
};
template <typename T>
void column_norm_rows_backward(const T* dy, const T* x, const Columns& by, const ColumnBends& bends,
                               T* dx, std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
