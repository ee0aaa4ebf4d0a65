// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/apply_rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using ApplyRotarySignature = Tensor(const Tensor&, const Tensor&);

class ApplyRotaryFunction : public torch::autograd::Function<ApplyRotaryFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& cos_sin) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<ApplyRotarySignature>("evenkeel::apply_rotary_forward");
    ctx->save_for_backward({cos_sin});
    return op.call(x, cos_sin);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    const SavedTensors saved(ctx);
    static const auto op =
        registered_operator<ApplyRotarySignature>("evenkeel::apply_rotary_backward");
    return {op.call(dy[0], saved[0]), Tensor()};
  }
};

void check_rotary(const Tensor& x, const Tensor& cos_sin) {
  check_rows("apply_rotary", x);
  const auto dtype = opmath_dtype(x.scalar_type());
  TORCH_CHECK(x.dim() == 4 && cos_sin.dim() == 3 && cos_sin.sym_size(0) == x.sym_size(1) &&
                  cos_sin.sym_size(1) == 2 && 2 * cos_sin.sym_size(2) == x.sym_size(3),
              "[apply_rotary] x must be [B, T, heads, D] and cos_sin [T, 2, D / 2], but they are ",
              x.sym_sizes(), " and ", cos_sin.sym_sizes());
  TORCH_CHECK(cos_sin.scalar_type() == dtype && cos_sin.device() == x.device(),
              "[apply_rotary] cos_sin must be ", dtype_name(dtype), " on ", x.device(),
              ", for x of ", dtype_name(x.scalar_type()), ", but is ",
              dtype_name(cos_sin.scalar_type()), " on ", cos_sin.device());
}

/// \param cosine, sine  [T, 1, D / 2]
Tensor rotate_pairs(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
  const auto wide = x.to(cosine.scalar_type());
  const auto half = x.size(-1) / 2;
  const auto a = wide.narrow(-1, 0, half);
  const auto b = wide.narrow(-1, half, half);
  auto y = at::empty(x.sizes(), wide.options());
  auto left = y.narrow(-1, 0, half);
  auto right = y.narrow(-1, half, half);
  at::mul_out(left, a, cosine).addcmul_(b, sine, -1);
  at::mul_out(right, b, cosine).addcmul_(a, sine);
  return y.to(x.scalar_type());
}

Tensor apply_rotary_forward(const Tensor& x, const Tensor& cos_sin) {
  check_rotary(x, cos_sin);
  return rotate_pairs(x, cos_sin.select(1, 0).unsqueeze(1), cos_sin.select(1, 1).unsqueeze(1));
}

Tensor apply_rotary_backward(const Tensor& dy, const Tensor& cos_sin) {
  check_rotary(dy, cos_sin);
  return rotate_pairs(dy, cos_sin.select(1, 0).unsqueeze(1), -cos_sin.select(1, 1).unsqueeze(1));
}

Tensor apply_rotary_meta(const Tensor& x, const Tensor& /*cos_sin*/) {
  return empty_contiguous_like(x);
}

Tensor apply_rotary_autograd(const Tensor& x, const Tensor& cos_sin) {
  check_rotary(x, cos_sin);
  TORCH_CHECK(!at::GradMode::is_enabled() || !cos_sin.requires_grad(),
              "[apply_rotary] cos_sin has no gradient here, but requires one; detach it");
  return ApplyRotaryFunction::apply(x, cos_sin);
}

}  // namespace

Tensor apply_rotary(const Tensor& x, const Tensor& cos_sin) {
  static const auto op = registered_operator<ApplyRotarySignature>("evenkeel::apply_rotary");
  return op.call(x, cos_sin);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("apply_rotary(Tensor x, Tensor cos_sin) -> Tensor");
  m.def("apply_rotary_forward(Tensor x, Tensor cos_sin) -> Tensor");
  m.def("apply_rotary_backward(Tensor dy, Tensor cos_sin) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("apply_rotary", apply_rotary_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("apply_rotary_forward", apply_rotary_forward);
  m.impl("apply_rotary_backward", apply_rotary_backward);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("apply_rotary_forward", apply_rotary_forward);
  m.impl("apply_rotary_backward", apply_rotary_backward);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("apply_rotary_forward", apply_rotary_meta);
  m.impl("apply_rotary_backward", apply_rotary_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("apply_rotary_forward", autograd_not_implemented());
  m.impl("apply_rotary_backward", autograd_not_implemented());
}

}  // namespace evenkeel::ops
