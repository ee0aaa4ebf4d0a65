// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/embedding.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>
#include <type_traits>

#include "evenkeel/kernels/cpu/portable/gather_sum.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/saved_value.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

template <typename T, typename To>
void add_rows(const T* from, const std::int64_t* id, const std::int64_t* place, std::int64_t count,
              To* to, std::int64_t width) {
  ops::cpu::for_each_row(count, [&](std::int64_t first) {
    if (first > 0 && id[first - 1] == id[first]) return;  // the first place of an id does it all
    auto last = first + 1;
    while (last < count && id[last] == id[first]) ++last;
    kernels::cpu::gather_sum(from, place + first, last - first, to + id[first] * width, width,
                             /*is_added=*/true);
  });
}

/// Adds the rows of dy [n, D] that belong to one id, to its row of `gradient` [rows, D].
void add_gradients(const at::Tensor& dy, const at::Tensor& ids, const at::Tensor& gradient) {
  const auto [sorted, order] = at::sort(ids, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const auto* const id = sorted.const_data_ptr<std::int64_t>();
  const auto* const place = order.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, dy.scalar_type(), "embedding_backward", [&] {
    const auto* const from = ops::cpu::const_data<scalar_t>(dy);
    const auto add = [&](auto* to) { add_rows(from, id, place, ids.numel(), to, dy.size(-1)); };
    if constexpr (std::is_same_v<scalar_t, at::BFloat16>) {
      if (gradient.scalar_type() == at::kFloat) return add(ops::cpu::mutable_data<float>(gradient));
    }
    add(ops::cpu::mutable_data<scalar_t>(gradient));
  });
}

class Embedding : public torch::autograd::Function<Embedding> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight, const at::Tensor& ids,
                            const ops::GradientBuffer* gradient_buffer) {
    ctx->save_for_backward({ids});
    ctx->saved_data["rows"] = weight.size(0);
    if (*gradient_buffer) ctx->saved_data["gradient_buffer"] = ops::saved_value(*gradient_buffer);
    return at::embedding(weight, ids);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const at::Tensor none;
    const auto ids = ctx->get_saved_variables()[0].flatten();
    const auto dy = upstream[0].flatten(0, -2).contiguous();
    const auto found = ctx->saved_data.find("gradient_buffer");
    if (found != ctx->saved_data.end()) {
      if (ctx->needs_input_grad(0)) {
        add_gradients(dy, ids, ops::saved_value_as<ops::GradientBuffer>(found->second).value());
      }
      return {none, none, none};
    }
    const auto rows = ctx->saved_data["rows"].toInt();
    const auto gradient = at::zeros({rows, dy.size(-1)}, dy.options());
    add_gradients(dy, ids, gradient);
    return {gradient, none, none};
  }
};

}  // namespace

at::Tensor embedding(const Weight& weight, const at::Tensor& ids) {
  return Embedding::apply(weight.value, ids, &weight.gradient_buffer);
}

}  // namespace evenkeel::nn
