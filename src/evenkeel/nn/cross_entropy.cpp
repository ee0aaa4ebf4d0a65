// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/cross_entropy.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/base/error.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The order of this sum does not depend on the number of threads: each row of the middle axis is
/// summed by one thread, and their sums, too few to be split, by one.
at::Tensor fixed_order_sum(const at::Tensor& x) {
  constexpr std::int64_t kRow = 512;
  const auto padded = (x.numel() + kRow - 1) / kRow * kRow;
  auto rows = at::zeros({padded}, x.options());
  rows.narrow(0, 0, x.numel()).copy_(x);
  return rows.view({-1, kRow}).sum(1).sum(0);
}

class CrossEntropy : public torch::autograd::Function<CrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits,
                            const at::Tensor& targets) {
    const auto scored = targets >= 0;
    const auto place = targets.clamp_min(0).unsqueeze(1);
    const auto log_total = at::logsumexp(logits, 1);
    const auto losses = (log_total - logits.gather(1, place).squeeze(1)).to(at::kDouble);
    ctx->save_for_backward({logits.detach(), place, scored, log_total});
    return fixed_order_sum(at::where(scored, losses, 0.0)).to(logits.scalar_type());
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    const auto saved = ctx->get_saved_variables();
    auto gradient = saved[0];  // the logits, no longer needed by anyone
    const auto factor = at::where(saved[2], dy[0], 0.0).to(gradient.scalar_type()).unsqueeze(1);
    gradient.sub_(saved[3].unsqueeze(1)).exp_();
    gradient.scatter_add_(1, saved[1], at::full_like(factor, -1.0));
    gradient.mul_(factor);
    return {gradient, at::Tensor()};
  }
};

}  // namespace

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets) {
  EK_ASSERT(logits.dim() == 2 && targets.dim() == 1 && logits.size(0) == targets.size(0));
  return CrossEntropy::apply(logits, targets);
}

}  // namespace evenkeel::nn
