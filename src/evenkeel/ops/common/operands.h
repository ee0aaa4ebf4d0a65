// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

/// Checks, shapes and allocation of operands, on every device. x is [..., D]: `rows` rows of
/// `width` D.
namespace evenkeel::ops {

using OptionalTensor = std::optional<at::Tensor>;

/// The dtype of gains and biases for rows of this dtype: float64 for float64, else float32.
inline at::ScalarType opmath_dtype(at::ScalarType rows) {
  return rows == at::kDouble ? at::kDouble : at::kFloat;
}

/// The Python name of a dtype: "float32" for at::kFloat.
std::string dtype_name(at::ScalarType dtype);

inline std::int64_t width_of(const at::Tensor& x) {
  return x.size(-1);
}

/// True if a matrix is row-major: contiguous rows that do not overlap.
inline bool is_row_major(const at::Tensor& x) {
  return x.stride(1) == 1 && (x.size(0) <= 1 || x.stride(0) >= x.size(1));
}

/// The product of all sizes except the last; 1 for x [D].
std::int64_t row_count(const at::Tensor& x);

/// row_count() with symbolic sizes, for Meta kernels.
c10::SymInt sym_row_count(const at::Tensor& x);

/// \throws c10::Error, which begins with [op], unless `tensor` is float32, bfloat16 or float64
void check_dtype(const char* op, const char* name, const at::Tensor& tensor);

/// \throws c10::Error, which begins with [op], unless x is rows of such a dtype
void check_rows(const char* op, const at::Tensor& x, const char* name = "x");

/// \throws c10::Error, which begins with [op] and names the vector, unless it is absent or [D], of
///         the dtype opmath_dtype() and on the device of x
void check_vector(const char* op, const char* name, const OptionalTensor& vector,
                  const at::Tensor& x);

/// \throws as check_vector(), except that [1] is also valid
void check_vector_or_value(const char* op, const char* name, const OptionalTensor& vector,
                           const at::Tensor& x);

/// \throws as check_vector(), except that [G] is also valid: one value for each D / G features
void check_vector_of_groups(const char* op, const char* name, const OptionalTensor& vector,
                            const at::Tensor& x);

/// \throws c10::Error, which begins with [op], unless `tensor` has the shape, dtype and device of
///         `other`
void check_same(const char* op, const char* name, const at::Tensor& tensor, const char* other_name,
                const at::Tensor& other);

/// \param is_value  true: the shape must be [1]; false: [1] or [D]
/// \throws c10::Error, which begins with [op] and names the vector, unless it has this shape, is
///         float64, and is on the device of x
void check_double(const char* op, const char* name, const at::Tensor& vector, const at::Tensor& x,
                  bool is_value);

/// \throws c10::Error, which begins with [op] and names the vector, unless v is a matrix, and
///         `vector` has the size of this axis of v, the dtype opmath_dtype() and the device of v
void check_matrix_vector(const char* op, const char* name, const at::Tensor& vector,
                         const at::Tensor& v, std::int64_t axis);

/// \throws c10::Error, which begins with [op], unless epsilon >= 0
void check_epsilon(const char* op, double epsilon);

/// \throws c10::Error, which begins with [op], unless softcap is nullopt, or finite and above 0
void check_softcap(const char* op, std::optional<double> softcap);

/// [D], contiguous: `vector`, with [1] expanded to [D]; filled with `value` if `vector` is nullopt.
at::Tensor vector_or(const OptionalTensor& vector, double value, const at::Tensor& x);

/// Whether the vector is [G] with G above 1 and below D.
bool is_group_vector(const OptionalTensor& vector, const at::Tensor& x);

/// vector_or() with [G] repeated to [D]: one value for each D / G features.
at::Tensor group_vector_or(const OptionalTensor& vector, double value, const at::Tensor& x);

/// The sums of a float64 vector [D] over each of `groups` groups of features. [groups]
at::Tensor group_sums(const at::Tensor& by_feature, std::int64_t groups);

/// Bumps the version counter of a tensor that an operator has changed in place, so that autograd
/// rejects a backward pass that saved the old values.
void bump_version(const at::Tensor& written);

/// An uninitialized contiguous tensor with the shape, dtype and device of x.
at::Tensor empty_contiguous_like(const at::Tensor& x);

/// An uninitialized tensor [rows], float64, for one row statistic of the backward pass.
at::Tensor empty_row_statistic(const at::Tensor& x);

/// Zeros [blocks of rows, D], float64, for the sums of kernels/reduction_order.h over rows.
at::Tensor zero_block_sums(const at::Tensor& x);

/// The gradient of an optional vector from its float64 sum: [D] in the dtype of the vector; [0] if
/// `vector` is nullopt, since a kernel must return a tensor.
at::Tensor vector_gradient(const at::Tensor& total, const OptionalTensor& vector);

/// An uninitialized tensor with shape and dtype of the result of vector_gradient().
at::Tensor empty_vector_gradient(const OptionalTensor& vector, const at::Tensor& x);

}  // namespace evenkeel::ops
