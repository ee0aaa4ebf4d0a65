// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/int8_linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/int8_linear_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using Int8LinearSignature = Tensor(const Tensor&, const Tensor&, const Tensor&);

constexpr double kLargest = 127;
constexpr std::int64_t kBlock = 4096;  // rows of w that are in floating point at a time

void check_int8_linear(const Tensor& x, const Tensor& values, const Tensor& scale) {
  check_dtype("int8_linear", "x", x);
  TORCH_CHECK(x.dim() >= 1 && values.dim() == 2 && scale.dim() == 1 &&
                  x.sym_size(-1) == values.sym_size(1) && scale.sym_size(0) == values.sym_size(0),
              "[int8_linear] x must be [..., columns], values [rows, columns] and scale [rows], "
              "but they are ",
              x.sym_sizes(), ", ", values.sym_sizes(), " and ", scale.sym_sizes());
  TORCH_CHECK(values.scalar_type() == at::kChar && scale.scalar_type() == at::kFloat &&
                  values.device() == x.device() && scale.device() == x.device(),
              "[int8_linear] values must be int8 and scale float32 on ", x.device(),
              ", but they are ", dtype_name(values.scalar_type()), " on ", values.device(), " and ",
              dtype_name(scale.scalar_type()), " on ", scale.device());
}

Tensor int8_linear_by_library(const Tensor& x, const Tensor& values, const Tensor& scale) {
  const auto y = empty_int8_result(x, values, scale);
  const auto rows = x.reshape({-1, x.size(-1)});
  int8_linear_in_blocks(y.view({rows.size(0), values.size(0)}), rows, {values, scale});
  return y;
}

/// quantize_rows() of some rows.
/// \param values, scale  written
void quantize_block(const Tensor& w, const Tensor& values, const Tensor& scale) {
  const auto exact = w.to(opmath_dtype(w.scalar_type()));
  const auto step = exact.abs().amax(-1) / kLargest;
  auto quotient = exact / at::where(step == 0, at::ones_like(step), step).unsqueeze(-1);
  quotient.round_().clamp_(-kLargest, kLargest).nan_to_num_(0);
  values.copy_(quotient);
  scale.copy_(step);
}

}  // namespace

Tensor empty_int8_result(const Tensor& x, const Tensor& values, const Tensor& scale) {
  check_int8_linear(x, values, scale);
  auto sizes = x.sym_sizes().vec();
  sizes.back() = values.sym_size(0);
  return at::empty_symint(sizes, x.options());
}

void int8_linear_in_blocks(const Tensor& y, const Tensor& x, const Int8Weight& w) {
  const auto rows = w.values.size(0);
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const auto count = std::min(kBlock, rows - first);
    const auto block = dequantized(w.narrow(first, count), x.scalar_type());
    deterministic_matmul_out(y.narrow(1, first, count), x, block.t());
  }
}

Int8Weight quantize_rows(const Tensor& w) {
  const at::NoGradGuard no_grad;
  const auto rows = w.detach().flatten(0, -2);
  const auto values = at::empty_like(rows, rows.options().dtype(at::kChar));
  const auto scale = at::empty({rows.size(0)}, rows.options().dtype(at::kFloat));
  for (std::int64_t first = 0; first < rows.size(0); first += kBlock) {
    const auto count = std::min(kBlock, rows.size(0) - first);
    quantize_block(rows.narrow(0, first, count), values.narrow(0, first, count),
                   scale.narrow(0, first, count));
  }
  return {values.view(w.sizes()), scale.view(w.sizes().slice(0, w.dim() - 1))};
}

Tensor dequantized(const Int8Weight& w, at::ScalarType dtype) {
  const auto wide = opmath_dtype(dtype);
  return w.values.to(wide).mul_(w.scale.to(wide).unsqueeze(-1)).to(dtype);
}

Tensor int8_linear(const Tensor& x, const Int8Weight& w) {
  static const auto op = registered_operator<Int8LinearSignature>("evenkeel::int8_linear");
  return op.call(x, w.values, w.scale);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("int8_linear(Tensor x, Tensor values, Tensor scale) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("int8_linear", int8_linear_by_library);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("int8_linear", empty_int8_result);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("int8_linear", autograd_not_implemented());
}

}  // namespace evenkeel::ops
