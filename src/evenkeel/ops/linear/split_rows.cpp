// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/split_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>

#include "evenkeel/ops/common/saved_value.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// What the backward pass needs.
struct SplitContext {
  std::vector<std::int64_t> sizes;
  GradientBuffer buffer;
};

class SplitRowsFunction : public torch::autograd::Function<SplitRowsFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const Tensor& w,
                             const std::vector<std::int64_t>* sizes, const GradientBuffer* buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->set_materialize_grads(false);
    ctx->saved_data["context"] = saved_value(SplitContext{*sizes, *buffer});
    auto blocks = w.detach().split_with_sizes(*sizes);
    // A change of w before the backward pass is then an error.
    for (const auto& block : blocks) {
      torch::autograd::impl::set_version_counter(block, torch::autograd::impl::version_counter(w));
    }
    return blocks;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "[split_rows] is differentiable once");
    const auto& context = saved_value_as<SplitContext>(ctx->saved_data["context"]);
    const auto [memory, is_first] = context.buffer.target();
    const auto blocks = memory.split_with_sizes(context.sizes);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!upstream[i].defined()) {
        if (is_first) blocks[i].zero_();
      } else {
        is_first ? blocks[i].copy_(upstream[i]) : blocks[i].add_(upstream[i]);
      }
    }
    return {Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

std::vector<Tensor> split_rows(const Tensor& w, const std::vector<std::int64_t>& sizes,
                               const GradientBuffer& buffer) {
  if (!buffer || !w.requires_grad() || !at::GradMode::is_enabled()) {
    return w.split_with_sizes(sizes);
  }
  return SplitRowsFunction::apply(w, &sizes, &buffer);
}

}  // namespace evenkeel::ops
