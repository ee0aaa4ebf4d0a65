// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

/// BLAS level 1 on rows: for the weighted rows of experts, and for matrices that are computed from
/// others (weight norm, sigma reparametrisation). In double and rounded once.
namespace evenkeel::kernels::cpu {

/// The sum of a[j] b[j].
template <typename T, typename F>
double dot_row(const T* a, const F* b, std::int64_t width);

/// to[j] = factor row[j]
template <typename T>
void scale_row(const T* row, double factor, T* to, std::int64_t width);

/// sums[j] += factor row[j]
template <typename T>
void axpy_row(const T* row, double factor, double* sums, std::int64_t width);

/// to[j] = factor row[j] - less other[j]
template <typename T>
void axpby_row(const T* row, double factor, const OpMathType<T>* other, double less, T* to,
               std::int64_t width);

/// v = v / |v|, in place; zeros stay zeros.
template <typename T>
void unit_row(T* v, std::int64_t width);

/// sums[j] += row[j]^2
template <typename T>
void add_squares_of_row(const T* row, double* sums, std::int64_t width);

/// row[j] = factors[j] row[j]
template <typename T>
void scale_columns_of_row(const double* factors, T* row, std::int64_t width);

/// w = gain v / |v|; zeros stay zeros.
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2
template <typename T>
void weight_norm_row(const T* v, OpMathType<T> gain, T* w, std::int64_t width);

/// Its gradient, with u = v / |v|: dv = gain / |v| (dw - u (dw . u)).
/// \return that of the gain, dw . u
template <typename T>
double weight_norm_row_backward(const T* dw, const T* v, OpMathType<T> gain, T* dv,
                                std::int64_t width);

}  // namespace evenkeel::kernels::cpu
