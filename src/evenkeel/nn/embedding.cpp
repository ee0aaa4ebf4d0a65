// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/embedding.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

#include "evenkeel/kernels/cpu/gathered_sum.h"
#include "evenkeel/ops/cpu.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Adds the rows of dy [n, D] that belong to one id, into its row of `gradient` [rows, D].
/// \param ids, order  [n]: the ids sorted, and the places where they stood
void add_rows(const at::Tensor& dy, const at::Tensor& ids, const at::Tensor& order,
              const at::Tensor& gradient) {
  const auto count = ids.numel();
  const auto width = dy.size(-1);
  const auto* const id = ids.const_data_ptr<std::int64_t>();
  const auto* const place = order.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, dy.scalar_type(), "embedding_backward", [&] {
    const auto* const from = ops::cpu::in<scalar_t>(dy);
    auto* const to = ops::cpu::out<scalar_t>(gradient);
    ops::cpu::for_each_row(count, [&](std::int64_t first) {
      if (first > 0 && id[first - 1] == id[first]) return;  // the first place of an id does it all
      auto last = first + 1;
      while (last < count && id[last] == id[first]) ++last;
      kernels::cpu::gathered_sum(from, place + first, last - first, to + id[first] * width, width);
    });
  });
}

class Embedding : public torch::autograd::Function<Embedding> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight, const at::Tensor& ids) {
    ctx->save_for_backward({ids});
    ctx->saved_data["rows"] = weight.size(0);
    return at::embedding(weight, ids);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto ids = ctx->get_saved_variables()[0].flatten();
    const auto dy = upstream[0].flatten(0, -2).contiguous();
    const auto [sorted, order] = at::sort(ids, /*stable=*/true, /*dim=*/0, /*descending=*/false);
    const auto rows = ctx->saved_data["rows"].toInt();
    auto gradient = at::zeros({rows, dy.size(-1)}, dy.options());
    add_rows(dy, sorted, order, gradient);
    return {gradient, at::Tensor()};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids) {
  return Embedding::apply(weight, ids);
}

}  // namespace evenkeel::nn
