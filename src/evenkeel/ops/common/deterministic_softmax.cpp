// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/deterministic_softmax.h"

#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class SoftmaxFunction : public torch::autograd::Function<SoftmaxFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    const SerialLibraries one_thread;
    auto y = at::softmax(x, -1);
    ctx->save_for_backward({y});
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const SerialLibraries one_thread;
    const auto y = ctx->get_saved_variables().front();
    return {at::_softmax_backward_data(upstream.front(), y, -1, y.scalar_type())};
  }
};

}  // namespace

at::Tensor deterministic_softmax(const at::Tensor& x) {
  return SoftmaxFunction::apply(x);
}

}  // namespace evenkeel::ops
