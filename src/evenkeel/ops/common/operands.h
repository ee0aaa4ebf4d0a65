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

/// The dtype of gains and biases beside rows of dtype `rows`: float32 at least.
inline at::ScalarType opmath_dtype(at::ScalarType rows) {
  return rows == at::kDouble ? at::kDouble : at::kFloat;
}

/// "float32" where torch says Float, as users write it.
std::string dtype_name(at::ScalarType dtype);

inline std::int64_t width_of(const at::Tensor& x) {
  return x.size(-1);
}

/// Whether a matrix is row-major: contiguous rows that do not overlap.
inline bool is_row_major(const at::Tensor& x) {
  return x.stride(1) == 1 && (x.size(0) <= 1 || x.stride(0) >= x.size(1));
}

/// The product of all sizes but the last; 1 for a single row.
std::int64_t row_count(const at::Tensor& x);

/// The same with symbolic sizes, for Meta kernels.
c10::SymInt sym_row_count(const at::Tensor& x);

/// \throws c10::Error, which begins with [op], unless `tensor` is float32, bfloat16 or float64
void check_dtype(const char* op, const char* name, const at::Tensor& tensor);

/// \throws c10::Error, which begins with [op], unless x is rows of such a dtype
void check_rows(const char* op, const at::Tensor& x, const char* name = "x");

/// \throws c10::Error, which begins with [op] and names the vector, unless it is absent or [D], of
///         the dtype opmath_dtype() and on the device of x
void check_vector(const char* op, const char* name, const OptionalTensor& vector,
                  const at::Tensor& x);

/// \throws as check_vector(), but [1] fits, too
void check_vector_or_value(const char* op, const char* name, const OptionalTensor& vector,
                           const at::Tensor& x);

/// \throws c10::Error, which begins with [op], unless `tensor` has the shape, dtype and device of
///         `other`
void check_same(const char* op, const char* name, const at::Tensor& tensor, const char* other_name,
                const at::Tensor& other);

/// \param is_value  it must be [1]; else it may be [D], too
/// \throws c10::Error, which begins with [op] and names the vector, unless it has such a shape, is
///         float64, and on the device of x
void check_double(const char* op, const char* name, const at::Tensor& vector, const at::Tensor& x,
                  bool is_value);

/// \throws c10::Error, which begins with [op] and names the vector, unless v is a matrix and
/// `vector`
///         has the size of its `axis`, is of the dtype opmath_dtype() and on the device of v
void check_matrix_vector(const char* op, const char* name, const at::Tensor& vector,
                         const at::Tensor& v, std::int64_t axis);

/// \throws c10::Error, which begins with [op], unless epsilon >= 0
void check_epsilon(const char* op, double epsilon);

/// \throws c10::Error, which begins with [op], unless the cap is absent or above 0 and finite
void check_softcap(const char* op, std::optional<double> softcap);

/// `vector`, contiguous, a [1] repeated D times; or `value` D times if there is none.
at::Tensor vector_or(const OptionalTensor& vector, double value, const at::Tensor& x);

/// Bumps autograd's version counter of a tensor that an operator has written into, so that a
/// backward pass which saved the old values refuses.
void bump_version(const at::Tensor& written);

/// An uninitialised contiguous tensor like x.
at::Tensor empty_contiguous_like(const at::Tensor& x);

/// An uninitialised tensor for one number a row that the backward pass needs: [rows], double.
at::Tensor empty_row_statistic(const at::Tensor& x);

/// Zeros for the sums of kernels/reduction_order.h over rows: [blocks of rows, D], double.
at::Tensor zero_block_sums(const at::Tensor& x);

/// The gradient of an optional vector out of its sum in double: [D] in the dtype of the vector, or
/// [0] if the operator got none, since a kernel always returns a tensor.
at::Tensor vector_gradient(const at::Tensor& total, const OptionalTensor& vector);

/// An uninitialised tensor like vector_gradient().
at::Tensor empty_vector_gradient(const OptionalTensor& vector, const at::Tensor& x);

}  // namespace evenkeel::ops
