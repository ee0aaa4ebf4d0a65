// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/activation_checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/ops/common/saved_value.h"

namespace evenkeel::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class CheckpointFunction : public torch::autograd::Function<CheckpointFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const Segment* segment, at::TensorList inputs) {
    ctx->save_for_backward(inputs.vec());
    ctx->saved_data["segment"] = saved_value(*segment);
    return (*segment)(inputs.vec(), /*is_recomputation=*/false);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto& segment = saved_value_as<Segment>(ctx->saved_data["segment"]);
    const at::AutoGradMode with_gradients(true);
    tensor_list inputs;
    for (const auto& saved : ctx->get_saved_variables()) {
      inputs.push_back(saved.detach().requires_grad_());
    }
    tensor_list outputs, gradients;
    const auto all = segment(inputs, /*is_recomputation=*/true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!upstream[i].defined()) continue;
      outputs.push_back(all[i]);
      gradients.push_back(upstream[i]);
    }
    torch::autograd::backward(outputs, gradients);
    tensor_list result = {at::Tensor()};  // of `segment`
    for (const auto& input : inputs) result.push_back(input.grad());
    return result;
  }
};

}  // namespace

Tensors run_checkpointed(const Segment& segment, const Tensors& inputs) {
  return CheckpointFunction::apply(&segment, at::TensorList(inputs));
}

}  // namespace evenkeel::ops
