// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/ops/weight_gradient.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// What autograd can carry from the forward to the backward pass, beside tensors that it watches.
struct Later : torch::CustomClassHolder {
  Activation::Again again;  // empty: what is saved is what was multiplied
  at::Tensor gradient;      // sum of that of w; undefined: autograd's
};

class Product : public torch::autograd::Function<Product> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w,
                            const Activation* activation, const at::Tensor* gradient) {
    ctx->save_for_backward({w, activation->again ? activation->kept : x});
    auto later = c10::make_intrusive<Later>();
    later->again = activation->again;
    later->gradient = *gradient;
    ctx->saved_data["later"] = at::IValue::make_capsule(std::move(later));
    return at::linear(x, w);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto& w = saved.at(0);
    const auto rows = upstream.front().reshape({-1, w.size(0)});
    at::Tensor dx, dw;
    if (ctx->needs_input_grad(0)) {
      auto sizes = upstream.front().sizes().vec();
      sizes.back() = w.size(1);
      dx = rows.mm(w).view(sizes);
    }
    if (ctx->needs_input_grad(1)) {
      const auto capsule = ctx->saved_data["later"].toCapsule();
      const auto& later = static_cast<const Later&>(*capsule);
      const auto x =
          (later.again ? later.again(saved.at(1)) : saved.at(1)).reshape({-1, w.size(1)});
      if (later.gradient.defined()) {
        ops::add_weight_gradient(later.gradient, rows, x);
      } else {
        dw = rows.t().mm(x);
      }
    }
    return {dx, dw, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor linear(const Activation& x, const Weight& w) {
  const bool is_trained = at::GradMode::is_enabled() && w.value.requires_grad();
  const bool is_plain = !x.again && !w.gradient.defined();
  if (is_plain || !is_trained) return at::linear(x.value, w.value);
  return Product::apply(x.value, w.value, &x, &w.gradient);
}

}  // namespace evenkeel::nn
