// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/scale_rows.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/row_blas.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class ScaleRows : public torch::autograd::Function<ScaleRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weights) {
    ctx->save_for_backward({x, weights});
    const auto y = at::empty(x.sizes(), x.options());
    const auto width = x.size(1);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows", [&] {
      using F = kernels::cpu::OpMathType<ops::cpu::KernelType<scalar_t>>;
      const auto* const from = ops::cpu::const_data<scalar_t>(x);
      const auto* const weight = weights.const_data_ptr<F>();
      auto* const to = ops::cpu::mutable_data<scalar_t>(y);
      ops::cpu::for_each_row(x.size(0), [&](std::int64_t m) {
        kernels::cpu::scale_row(from + m * width, weight[m], to + m * width, width);
      });
    });
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto& [x, weights] = std::tie(saved[0], saved[1]);
    const auto dy = upstream[0].contiguous();
    const auto dx = at::empty(x.sizes(), x.options());
    const auto dweights = at::empty(weights.sizes(), weights.options());
    const auto width = x.size(1);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows_backward", [&] {
      using F = kernels::cpu::OpMathType<ops::cpu::KernelType<scalar_t>>;
      const auto* const from = ops::cpu::const_data<scalar_t>(x);
      const auto* const above = ops::cpu::const_data<scalar_t>(dy);
      const auto* const weight = weights.const_data_ptr<F>();
      auto* const to = ops::cpu::mutable_data<scalar_t>(dx);
      auto* const dweight = dweights.mutable_data_ptr<F>();
      ops::cpu::for_each_row(x.size(0), [&](std::int64_t m) {
        const auto at = m * width;
        dweight[m] = static_cast<F>(kernels::cpu::dot_row(above + at, from + at, width));
        kernels::cpu::scale_row(above + at, weight[m], to + at, width);
      });
    });
    return {dx, dweights};
  }
};

}  // namespace

at::Tensor scale_rows(const at::Tensor& x, const at::Tensor& weights) {
  EK_ASSERT(x.dim() == 2 && weights.dim() == 1 && weights.size(0) == x.size(0) &&
            weights.scalar_type() == ops::opmath_dtype(x.scalar_type()));
  return ScaleRows::apply(x.contiguous(), weights.contiguous());
}

}  // namespace evenkeel::nn
