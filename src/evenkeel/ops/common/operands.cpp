// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/operands.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/new_empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::ops {

using at::Tensor;

std::string dtype_name(at::ScalarType dtype) {
  if (dtype == at::kFloat) return "float32";
  if (dtype == at::kDouble) return "float64";
  if (dtype == at::kBFloat16) return "bfloat16";
  if (dtype == at::kHalf) return "float16";
  if (dtype == at::kLong) return "int64";
  if (dtype == at::kInt) return "int32";
  return c10::toString(dtype);
}

std::int64_t row_count(const Tensor& x) {
  return c10::multiply_integers(x.sizes().slice(0, static_cast<std::size_t>(x.dim() - 1)));
}

c10::SymInt sym_row_count(const Tensor& x) {
  c10::SymInt rows = 1;
  for (const auto& size : x.sym_sizes().slice(0, static_cast<std::size_t>(x.dim() - 1))) {
    rows *= size;
  }
  return rows;
}

void check_dtype(const char* op, const char* name, const Tensor& tensor) {
  const auto dtype = tensor.scalar_type();
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kDouble, "[", op, "] ",
              name, " must be float32, bfloat16 or float64, but is ", dtype_name(dtype));
}

void check_rows(const char* op, const Tensor& x, const char* name) {
  check_dtype(op, name, x);
  TORCH_CHECK(x.dim() >= 1, "[", op, "] ", name, " must have an axis of features, but is a scalar");
}

void check_vector(const char* op, const char* name, const OptionalTensor& vector, const Tensor& x) {
  if (!vector) return;
  TORCH_CHECK(vector->dim() == 1 && vector->sym_size(0) == x.sym_size(-1), "[", op, "] ", name,
              " must be [", x.sym_size(-1), "] to fit x ", x.sym_sizes(), ", but is ",
              vector->sym_sizes());
  TORCH_CHECK(
      vector->scalar_type() == opmath_dtype(x.scalar_type()) && vector->device() == x.device(), "[",
      op, "] ", name, " must be ", dtype_name(opmath_dtype(x.scalar_type())), " on ", x.device(),
      ", for x of ", dtype_name(x.scalar_type()), ", but is ", dtype_name(vector->scalar_type()),
      " on ", vector->device());
}

void check_vector_or_value(const char* op, const char* name, const OptionalTensor& vector,
                           const Tensor& x) {
  const bool one_value = vector && vector->dim() == 1 && vector->sym_size(0) == 1;
  if (one_value && x.sym_size(-1) == 0) return check_vector(op, name, vector, x.new_empty({1}));
  check_vector(op, name, vector, one_value ? x.narrow(-1, 0, 1) : x);
}

void check_vector_of_groups(const char* op, const char* name, const OptionalTensor& vector,
                            const Tensor& x) {
  const bool fits = vector && vector->dim() == 1 && is_group_vector(vector, x) &&
                    x.sym_size(-1) % vector->sym_size(0) == 0;
  if (!fits) return check_vector_or_value(op, name, vector, x);
  check_vector(op, name, vector, x.narrow_symint(-1, 0, vector->sym_size(0)));
}

void check_same(const char* op, const char* name, const Tensor& tensor, const char* other_name,
                const Tensor& other) {
  TORCH_CHECK(tensor.sym_sizes() == other.sym_sizes(), "[", op, "] ", name, " must be ",
              other.sym_sizes(), " like ", other_name, ", but is ", tensor.sym_sizes());
  TORCH_CHECK(tensor.scalar_type() == other.scalar_type() && tensor.device() == other.device(), "[",
              op, "] ", name, " must be ", dtype_name(other.scalar_type()), " on ", other.device(),
              " like ", other_name, ", but is ", dtype_name(tensor.scalar_type()), " on ",
              tensor.device());
}

void check_double(const char* op, const char* name, const Tensor& vector, const Tensor& x,
                  bool is_value) {
  const bool fits = vector.dim() == 1 && (vector.sym_size(0) == 1 ||
                                          (!is_value && vector.sym_size(0) == x.sym_size(-1)));
  TORCH_CHECK(fits && vector.scalar_type() == at::kDouble && vector.device() == x.device(), "[", op,
              "] ", name, " must be float64 [1]", is_value ? "" : " or [D]", " on ",
              x.device().str(), ", D = ", x.sym_size(-1), ", but is ",
              dtype_name(vector.scalar_type()), " ", vector.sym_sizes(), " on ",
              vector.device().str());
}

void check_matrix_vector(const char* op, const char* name, const Tensor& vector, const Tensor& v,
                         std::int64_t axis) {
  check_dtype(op, "v", v);
  TORCH_CHECK(v.dim() == 2, "[", op, "] v must be [rows, columns], but is ", v.sym_sizes());
  const auto dtype = opmath_dtype(v.scalar_type());
  TORCH_CHECK(vector.dim() == 1 && vector.sym_size(0) == v.sym_size(axis) &&
                  vector.scalar_type() == dtype && vector.device() == v.device(),
              "[", op, "] ", name, " must be [", v.sym_size(axis), "] of ", dtype_name(dtype),
              " on ", v.device(), ", but is ", vector.sym_sizes(), " of ",
              dtype_name(vector.scalar_type()), " on ", vector.device());
}

void check_epsilon(const char* op, double epsilon) {
  TORCH_CHECK(epsilon >= 0, "[", op, "] epsilon must be >= 0, but is ", epsilon);
}

void check_softcap(const char* op, std::optional<double> softcap) {
  TORCH_CHECK(!softcap || (*softcap > 0 && std::isfinite(*softcap)), "[", op,
              "] softcap must be above 0 and finite, or absent, but is ", softcap.value_or(0));
}

Tensor vector_or(const OptionalTensor& vector, double value, const Tensor& x) {
  if (vector) return vector->expand({width_of(x)}).contiguous();
  return at::full({width_of(x)}, value, x.options().dtype(opmath_dtype(x.scalar_type())));
}

bool is_group_vector(const OptionalTensor& vector, const Tensor& x) {
  return vector && vector->sym_size(0) > 1 && vector->sym_size(0) != x.sym_size(-1);
}

Tensor group_vector_or(const OptionalTensor& vector, double value, const Tensor& x) {
  if (!is_group_vector(vector, x)) return vector_or(vector, value, x);
  const auto width = width_of(x), groups = vector->size(0);
  TORCH_CHECK(width % groups == 0, groups, " values must divide the width ", width);
  return vector->unsqueeze(1).expand({groups, width / groups}).reshape({width});
}

Tensor group_sums(const Tensor& by_feature, std::int64_t groups) {
  return by_feature.view({groups, by_feature.size(0) / groups}).sum(1);
}

void bump_version(const Tensor& written) {
  written.unsafeGetTensorImpl()->bump_version();
}

Tensor empty_contiguous_like(const Tensor& x) {
  return at::empty_like(x, at::MemoryFormat::Contiguous);
}

Tensor empty_row_statistic(const Tensor& x) {
  return at::empty_symint({sym_row_count(x)}, x.options().dtype(at::kDouble));
}

Tensor zero_block_sums(const Tensor& x) {
  const auto blocks = kernels::blocks_of(row_count(x), kernels::kBlockRows);
  return at::zeros({blocks, width_of(x)}, x.options().dtype(at::kDouble));
}

Tensor vector_gradient(const Tensor& total, const OptionalTensor& vector) {
  if (!vector) return at::empty({0}, total.options());
  return total.to(vector->scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

Tensor empty_vector_gradient(const OptionalTensor& vector, const Tensor& x) {
  return vector ? empty_contiguous_like(*vector) : at::empty({0}, x.options().dtype(at::kDouble));
}

}  // namespace evenkeel::ops
