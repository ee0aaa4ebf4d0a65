// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/rotary.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine) {
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

/// A rotation is orthogonal: its gradient is the inverse rotation, and only the angles are saved.
class RotateFunction : public torch::autograd::Function<RotateFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine) {
    ctx->save_for_backward({cosine, sine});
    return rotated(x, cosine, sine);
  }
  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    const auto saved = ctx->get_saved_variables();
    return {rotated(dy[0], saved[0], -saved[1]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

Rotary Rotary::of(std::int64_t first, std::int64_t positions, std::int64_t dk, double theta,
                  at::ScalarType dtype) {
  const auto exponent = at::arange(0, dk, 2, at::kDouble) / (-static_cast<double>(dk));
  const auto frequency = at::pow(at::Scalar(theta), exponent);
  const auto position = at::arange(first, first + positions, at::kDouble);
  const auto angle = at::outer(position, frequency);
  const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  return {at::stack({angle.cos(), angle.sin()}, 1).to(wide)};
}

at::Tensor Rotary::operator()(const at::Tensor& x) const {
  const auto of = [this](std::int64_t which) { return cos_sin.select(1, which).unsqueeze(1); };
  return RotateFunction::apply(x, of(0), of(1));
}

}  // namespace evenkeel::nn
