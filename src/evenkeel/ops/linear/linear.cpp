// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_unsafe_view.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"

namespace evenkeel::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The values besides tensors that the backward pass needs.
struct LinearContext {
  Activation::Recomputation recompute;  // empty: the saved tensor is the input
  GradientBuffer gradient_buffer;       // accumulates dw; empty: autograd returns dw
};

/// Whether this is the only reference to the gradient, so that it may be overwritten.
bool is_unshared(const at::Tensor& gradient) {
  return !at::GradMode::is_enabled() && gradient.use_count() == 1 &&
         gradient.storage().use_count() == 1 && gradient.is_contiguous();
}

/// dx = dy w, or dx = dresidual + dy w, rounded once unless the gradient is differentiable itself.
at::Tensor input_gradient(const at::Tensor& rows, const at::Tensor& w,
                          const at::Tensor& dresidual) {
  if (!dresidual.defined()) return deterministic_matmul(rows, w);
  const bool in_place = is_unshared(dresidual);
  const auto flat = dresidual.reshape({-1, w.size(1)});
  if (at::GradMode::is_enabled()) return flat + deterministic_matmul(rows, w);
  auto sum = in_place ? flat : flat.clone(at::MemoryFormat::Contiguous);
  deterministic_matmul_out(sum, rows, w, /*is_added=*/true);
  return sum;
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w,
                             const Activation* activation, const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({w, activation->recompute ? activation->saved : x});
    ctx->saved_data["context"] =
        saved_value(LinearContext{activation->recompute, *gradient_buffer});
    auto y = deterministic_linear(x, w);
    return activation->residual_out == nullptr ? tensor_list{y} : tensor_list{y, x};
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto& dy = upstream.front();
    const at::Tensor none;
    const auto& dresidual = upstream.size() > 1 ? upstream[1] : none;
    if (!dy.defined()) return {dresidual, none, none, none};
    const SavedTensors saved(ctx);
    const auto& w = saved[0];
    const auto rows = dy.reshape({-1, w.size(0)});
    at::Tensor dx, dw;
    if (ctx->needs_input_grad(1)) {
      const auto& context = saved_value_as<LinearContext>(ctx->saved_data["context"]);
      const auto x =
          (context.recompute ? context.recompute(saved[1]) : saved[1]).reshape({-1, w.size(1)});
      dw = weight_gradient(context.gradient_buffer, rows, x);
    }
    if (ctx->needs_input_grad(0)) {
      auto sizes = dy.sizes().vec();
      sizes.back() = w.size(1);
      // view() holds its base: is_unshared() would be false in the next linear(), which would copy.
      dx = at::_unsafe_view(input_gradient(rows, w, dresidual), sizes);
    }
    return {dx, dw, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor weight_gradient(const GradientBuffer& gradient_buffer, const at::Tensor& dy,
                           const at::Tensor& x) {
  if (!gradient_buffer) return deterministic_matmul(dy.t(), x);
  gradient_buffer.accumulate_weight_gradient(dy, x);
  return {};
}

at::Tensor linear(const Activation& x, const at::Tensor& w, const GradientBuffer& gradient_buffer) {
  const bool needs_gradient = at::GradMode::is_enabled() && w.requires_grad();
  const bool is_plain = !x.recompute && !gradient_buffer && x.residual_out == nullptr;
  if (is_plain || !needs_gradient) {
    if (x.residual_out != nullptr) *x.residual_out = x.value;
    return deterministic_linear(x.value, w);
  }
  const auto made = LinearFunction::apply(x.value, w, &x, &gradient_buffer);
  if (x.residual_out != nullptr) *x.residual_out = made[1];
  return made[0];
}

}  // namespace evenkeel::ops
