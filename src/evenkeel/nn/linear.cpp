// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// What autograd can carry from the forward to the backward pass.
struct Later : torch::CustomClassHolder {
  Activation::Again again;
};

class LinearOfAgain : public torch::autograd::Function<LinearOfAgain> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w,
                            const Activation* activation) {
    ctx->save_for_backward({w, activation->kept});
    auto later = c10::make_intrusive<Later>();
    later->again = activation->again;
    ctx->saved_data["later"] = at::IValue::make_capsule(std::move(later));
    return at::linear(x, w);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto& w = saved.at(0);
    const auto& dy = upstream.front();
    const auto rows = dy.reshape({-1, dy.size(-1)});
    auto sizes = dy.sizes().vec();
    sizes.back() = w.size(-1);
    const auto dx = rows.mm(w).view(sizes);
    at::Tensor dw;
    if (ctx->needs_input_grad(1)) {
      const auto later = ctx->saved_data["later"].toCapsule();
      const auto x = static_cast<const Later&>(*later).again(saved.at(1));
      dw = rows.t().mm(x.reshape({-1, x.size(-1)}));
    }
    return {dx, dw, at::Tensor()};
  }
};

}  // namespace

at::Tensor linear(const Activation& x, const at::Tensor& w) {
  const bool is_trained = at::GradMode::is_enabled() && w.requires_grad();
  if (!x.again || !is_trained) return at::linear(x.value, w);
  return LinearOfAgain::apply(x.value, w, &x);
}

}  // namespace evenkeel::nn
