// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/grouped_linear.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/grouped_linear_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using GroupedLinearSignature = Tensor(const Tensor&, const Tensor&, const Tensor&);
using GroupedLinearBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                  const Tensor&, const Tensor&,
                                                                  bool, bool);
using AddGroupedWeightGradientSignature = void(const Tensor&, const Tensor&, const Tensor&,
                                               const Tensor&, bool);

class GroupedLinearFunction : public torch::autograd::Function<GroupedLinearFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight,
                        const Tensor& offsets, const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<GroupedLinearSignature>("evenkeel::grouped_linear_forward");
    ctx->save_for_backward({x, weight, offsets});
    if (*gradient_buffer) ctx->saved_data["gradient_buffer"] = saved_value(*gradient_buffer);
    return op.call(x, weight, offsets);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    static const auto op =
        registered_operator<GroupedLinearBackwardSignature>("evenkeel::grouped_linear_backward");
    const SavedTensors saved(ctx);
    const auto& [x, weight, offsets] = std::tie(saved[0], saved[1], saved[2]);
    const auto dy = upstream[0].contiguous();
    const auto found = ctx->saved_data.find("gradient_buffer");
    const bool has_buffer = found != ctx->saved_data.end();
    const bool for_x = ctx->needs_input_grad(0), for_weight = ctx->needs_input_grad(1);
    const auto [dx, dweight] = op.call(dy, x, weight, offsets, for_x, for_weight && !has_buffer);
    if (for_weight && has_buffer) {
      const auto [sum, is_first] = saved_value_as<GradientBuffer>(found->second).target();
      add_grouped_weight_gradient(sum, dy, x, offsets, is_first);
    }
    const Tensor none;
    return {for_x ? dx : none, for_weight && !has_buffer ? dweight : none, none, none};
  }
};

Tensor grouped_linear_autograd(const Tensor& x, const Tensor& weight, const Tensor& offsets) {
  check_grouped_linear(x, weight, offsets);
  const GradientBuffer none;
  return GroupedLinearFunction::apply(x.contiguous(), weight, offsets, &none);
}

}  // namespace

void check_grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& offsets) {
  check_dtype("grouped_linear", "x", x);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 3 && x.sym_size(1) == weight.sym_size(2) &&
                  x.scalar_type() == weight.scalar_type() && x.device() == weight.device(),
              "[grouped_linear] x must be [M, I] and weight [E, O, I] of the same dtype, but they "
              "are ",
              x.sym_sizes(), " of ", dtype_name(x.scalar_type()), " and ", weight.sym_sizes(),
              " of ", dtype_name(weight.scalar_type()));
  TORCH_CHECK(offsets.dim() == 1 && offsets.sym_size(0) == weight.sym_size(0) + 1 &&
                  offsets.scalar_type() == at::kLong && offsets.device() == x.device(),
              "[grouped_linear] offsets must be [", weight.sym_size(0) + 1, "] of int64 on ",
              x.device(), ", but are ", offsets.sym_sizes(), " of ",
              dtype_name(offsets.scalar_type()), " on ", offsets.device());
}

void check_grouped_upstream(const Tensor& dy, const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(dy.dim() == 2 && dy.size(0) == x.size(0) && dy.size(1) == weight.size(1) &&
                  dy.scalar_type() == x.scalar_type() && dy.device() == x.device(),
              "[grouped_linear] dy must be [", x.size(0), ", ", weight.size(1), "] of ",
              dtype_name(x.scalar_type()), ", but is ", dy.sizes(), " of ",
              dtype_name(dy.scalar_type()));
}

void check_grouped_gradient(const Tensor& sum, const Tensor& dy, const Tensor& x,
                            const Tensor& offsets) {
  TORCH_CHECK(sum.dim() == 3 && x.dim() == 2 && dy.dim() == 2 && sum.size(2) == x.size(1) &&
                  sum.size(1) == dy.size(1) && dy.size(0) == x.size(0) && offsets.dim() == 1 &&
                  offsets.size(0) == sum.size(0) + 1,
              "[add_grouped_weight_gradient_] sum must be [E, O, I], dy [M, O], x [M, I] and "
              "offsets [E + 1], but they are ",
              sum.sizes(), ", ", dy.sizes(), ", ", x.sizes(), " and ", offsets.sizes());
}

// A GradientBuffer is a C++ object: calls with one do not go through the dispatcher.
Tensor grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& offsets,
                      const GradientBuffer& gradient_buffer) {
  if (gradient_buffer) {
    check_grouped_linear(x, weight, offsets);
    return GroupedLinearFunction::apply(x.contiguous(), weight, offsets, &gradient_buffer);
  }
  static const auto op = registered_operator<GroupedLinearSignature>("evenkeel::grouped_linear");
  return op.call(x, weight, offsets);
}

void add_grouped_weight_gradient(const Tensor& sum, const Tensor& dy, const Tensor& x,
                                 const Tensor& offsets, bool is_first) {
  static const auto op = registered_operator<AddGroupedWeightGradientSignature>(
      "evenkeel::add_grouped_weight_gradient_");
  op.call(sum, dy, x, offsets, is_first);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("grouped_linear(Tensor x, Tensor weight, Tensor offsets) -> Tensor");
  m.def("grouped_linear_forward(Tensor x, Tensor weight, Tensor offsets) -> Tensor");
  m.def(
      "grouped_linear_backward(Tensor dy, Tensor x, Tensor weight, Tensor offsets, bool for_x,"
      " bool for_weight) -> (Tensor dx, Tensor dweight)");
  m.def(
      "add_grouped_weight_gradient_(Tensor(a!) sum, Tensor dy, Tensor x, Tensor offsets,"
      " bool is_first=False) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("grouped_linear", grouped_linear_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("grouped_linear_forward", autograd_not_implemented());
  m.impl("grouped_linear_backward", autograd_not_implemented());
  m.impl("add_grouped_weight_gradient_", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor grouped_linear_forward_meta(const Tensor& x, const Tensor& weight,
                                   const Tensor& /*offsets*/) {
  return at::empty_symint({x.sym_size(0), weight.sym_size(1)}, x.options());
}

std::tuple<Tensor, Tensor> grouped_linear_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                        const Tensor& weight,
                                                        const Tensor& /*offsets*/, bool for_x,
                                                        bool for_weight) {
  const auto none = [](const Tensor& like) { return at::empty({0}, like.options()); };
  return {for_x ? empty_contiguous_like(x) : none(x),
          for_weight ? empty_contiguous_like(weight) : none(weight)};
}

void add_grouped_weight_gradient_meta(const Tensor& /*sum*/, const Tensor& /*dy*/,
                                      const Tensor& /*x*/, const Tensor& /*offsets*/,
                                      bool /*is_first*/) {}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("grouped_linear_forward", grouped_linear_forward_meta);
  m.impl("grouped_linear_backward", grouped_linear_backward_meta);
  m.impl("add_grouped_weight_gradient_", add_grouped_weight_gradient_meta);
}

}  // namespace evenkeel::ops
