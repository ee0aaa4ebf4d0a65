// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/deterministic_matmul.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/linear/deterministic_matmul_blocks.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using MatmulSignature = Tensor(const Tensor&, const Tensor&);
using MatmulOutSignature = void(const Tensor&, const Tensor&, const Tensor&, bool);

c10::TypedOperatorHandle<MatmulSignature> matmul_operator() {
  static const auto op = registered_operator<MatmulSignature>("evenkeel::deterministic_matmul");
  return op;
}

/// Whether the columns of each matrix of x follow each other in memory.
bool is_column_major(const Tensor& x) {
  return x.sym_stride(-2) == 1 && x.sym_stride(-1) == x.sym_size(-2);
}

/// a b, or the transpose of b^T a^T, which has other bits. Autograd of at::mm() chooses by the
/// layout of the operand of the gradient, too.
Tensor product_for(const Tensor& operand, const Tensor& a, const Tensor& b) {
  if (!is_column_major(operand)) return deterministic_matmul(a, b);
  return deterministic_matmul(b.transpose(-2, -1), a.transpose(-2, -1)).transpose(-2, -1);
}

/// dx = dy w^T, dw = x^T dy
class MatmulFunction : public torch::autograd::Function<MatmulFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({x, w});
    return matmul_operator().call(x, w);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const SavedTensors saved(ctx);
    const auto& x = saved[0];
    const auto& w = saved[1];
    const auto& dy = upstream.front();
    Tensor dx, dw;
    if (ctx->needs_input_grad(0)) dx = product_for(x, dy, w.transpose(-2, -1));
    if (ctx->needs_input_grad(1)) dw = product_for(w, x.transpose(-2, -1), dy);
    return {dx, dw};
  }
};

Tensor matmul_autograd(const Tensor& x, const Tensor& w) {
  return MatmulFunction::apply(x, w);
}

void matmul_check(const Tensor& x, const Tensor& w) {
  check_dtype("deterministic_matmul", "x", x);
  TORCH_CHECK((x.dim() == 2 || x.dim() == 3) && w.dim() == x.dim() &&
                  x.sym_size(-1) == w.sym_size(-2) &&
                  (x.dim() == 2 || x.sym_size(0) == w.sym_size(0)) &&
                  x.scalar_type() == w.scalar_type() && x.device() == w.device(),
              "[deterministic_matmul] x must be [n, depth] and w [depth, columns], or both with a "
              "batch before, "
              "of one dtype and device, but they are ",
              x.sym_sizes(), " of ", dtype_name(x.scalar_type()), " on ", x.device(), " and ",
              w.sym_sizes(), " of ", dtype_name(w.scalar_type()), " on ", w.device());
}

Tensor empty_product(const Tensor& x, const Tensor& w) {
  matmul_check(x, w);
  auto sizes = x.sym_sizes().vec();
  sizes.back() = w.sym_size(-1);
  return at::empty_symint(sizes, x.options());
}

Tensor matmul_of_out(const Tensor& x, const Tensor& w) {
  const auto y = empty_product(x, w);
  deterministic_matmul_out(y, x, w);
  return y;
}

void matmul_out_by_library(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  check_matmul_out(y, x, w);
  bump_version(y);
  auto out = y;
  if (x.dim() == 2) {
    is_added ? out.addmm_(x, w) : at::mm_out(out, x, w);
  } else {
    is_added ? out.baddbmm_(x, w) : at::bmm_out(out, x, w);
  }
}

void matmul_out_meta(const Tensor& y, const Tensor& x, const Tensor& w, bool /*is_added*/) {
  check_matmul_out(y, x, w);
}

}  // namespace

void check_matmul_out(const Tensor& y, const Tensor& x, const Tensor& w) {
  matmul_check(x, w);
  TORCH_CHECK(y.dim() == x.dim() && y.sym_size(-2) == x.sym_size(-2) &&
                  y.sym_size(-1) == w.sym_size(-1) &&
                  (y.dim() == 2 || y.sym_size(0) == x.sym_size(0)) &&
                  y.scalar_type() == x.scalar_type() && y.device() == x.device(),
              "[deterministic_matmul] y must fit x ", x.sym_sizes(), " and w ", w.sym_sizes(),
              " of ", dtype_name(x.scalar_type()), " on ", x.device(), ", but is ", y.sym_sizes(),
              " of ", dtype_name(y.scalar_type()), " on ", y.device());
}

Tensor deterministic_matmul(const Tensor& x, const Tensor& w) {
  return matmul_operator().call(x, w);
}

void deterministic_matmul_out(const Tensor& y, const Tensor& x, const Tensor& w, bool is_added) {
  static const auto op =
      registered_operator<MatmulOutSignature>("evenkeel::deterministic_matmul_out_");
  op.call(y, x, w, is_added);
}

Tensor deterministic_linear(const Tensor& x, const Tensor& w) {
  if (x.dim() == 2) return deterministic_matmul(x, w.t());
  auto sizes = x.sym_sizes().vec();
  sizes.back() = w.sym_size(0);
  return deterministic_matmul(x.reshape_symint({-1, w.sym_size(1)}), w.t()).view_symint(sizes);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("deterministic_matmul(Tensor x, Tensor w) -> Tensor");
  m.def("deterministic_matmul_out_(Tensor(a!) y, Tensor x, Tensor w, bool is_added=False) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("deterministic_matmul", matmul_of_out);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("deterministic_matmul", matmul_of_out);
  m.impl("deterministic_matmul_out_", matmul_out_by_library);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("deterministic_matmul", empty_product);
  m.impl("deterministic_matmul_out_", matmul_out_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("deterministic_matmul", matmul_autograd);
  m.impl("deterministic_matmul_out_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
