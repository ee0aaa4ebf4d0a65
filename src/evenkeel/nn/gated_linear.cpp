// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/gated_linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/nn/linear.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/gradient_buffer.h"
#include "evenkeel/ops/linear/swiglu.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class GatedLinearFunction : public torch::autograd::Function<GatedLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& products, const at::Tensor& w,
                            const ops::GradientBuffer* gradient_buffer) {
    ctx->save_for_backward({products, w});
    ctx->saved_data["gradient_buffer"] = ops::saved_value(ops::GradientBuffer(*gradient_buffer));
    return at::linear(ops::swiglu(products), w);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "[gated_linear] is differentiable once");
    const auto saved = ctx->get_saved_variables();
    const auto& products = saved.at(0);
    const auto& w = saved.at(1);
    const auto rows = upstream.front().reshape({-1, w.size(0)});
    at::Tensor hidden, dproducts, dw;
    if (ctx->needs_input_grad(0)) {
      hidden = rows.mm(w);  // its gradient, until the next line
      dproducts = ops::swiglu_backward_(hidden, products.reshape({-1, products.size(-1)}));
      dproducts = dproducts.view_as(products);
    } else {
      hidden = ops::swiglu(products).reshape({-1, w.size(1)});
    }
    if (ctx->needs_input_grad(1)) {
      const auto& gradient_buffer =
          ops::saved_value_as<ops::GradientBuffer>(ctx->saved_data["gradient_buffer"]);
      dw = weight_gradient(gradient_buffer, rows, hidden);
    }
    return {dproducts, dw, at::Tensor()};
  }
};

}  // namespace

at::Tensor gated_linear(const at::Tensor& products, const Weight& w) {
  return GatedLinearFunction::apply(products, w.value, &w.gradient_buffer);
}

}  // namespace evenkeel::nn
