// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/linear_cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/linear_cross_entropy_forward.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The state for the backward pass, if the weight has a gradient buffer.
struct WeightGradientState {
  GradientBuffer buffer;
  GradientBuffer::PendingGradient pending;
};

/// \return the loss, and its parts without a gradient
class LinearCrossEntropyFunction : public torch::autograd::Function<LinearCrossEntropyFunction> {
  static constexpr std::size_t kArguments = 7;  // of forward(), after the context

 public:
  static tensor_list forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight,
                             const Tensor& targets, const LogitsOptions& options, bool for_x,
                             bool for_weight, const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto& [vocabulary, scale, softcap, z_loss] = options;
    ctx->set_materialize_grads(false);  // none for the parts
    ctx->saved_data["dtype"] = weight.scalar_type();
    if (*gradient_buffer) {
      static const auto op = registered_operator<LinearCrossEntropyIntoSignature>(
          "evenkeel::linear_cross_entropy_into");
      const auto pending = gradient_buffer->pending_gradient();
      const auto [loss, parts, dx] =
          op.call(x, weight, targets, vocabulary, scale, softcap, *pending, z_loss);
      ctx->save_for_backward({dx});
      ctx->mark_non_differentiable({parts});
      ctx->saved_data["weight_gradient"] =
          saved_value(WeightGradientState{*gradient_buffer, pending});
      return {loss, parts};
    }
    static const auto op = registered_operator<LinearCrossEntropyForwardSignature>(
        "evenkeel::linear_cross_entropy_forward");
    const auto [loss, parts, dx, dweight] =
        op.call(x, weight, targets, vocabulary, scale, softcap, for_x, for_weight, z_loss);
    ctx->save_for_backward({dx, dweight});
    ctx->mark_non_differentiable({parts});
    return {loss, parts};
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    TORCH_CHECK(
        !at::GradMode::is_enabled(),
        "[linear_cross_entropy] can be differentiated once: its gradient is computed with the "
        "loss, and has none; leave out create_graph");
    if (!upstream[0].defined()) return tensor_list(kArguments);  // of a loss that is not used
    const SavedTensors saved(ctx);
    Tensor dx, dweight;
    // A number of float32 keeps its digits, and dx its dtype.
    if (ctx->needs_input_grad(0)) dx = saved[0] * upstream[0];
    if (ctx->needs_input_grad(1)) {
      const auto found = ctx->saved_data.find("weight_gradient");
      if (found == ctx->saved_data.end()) {
        dweight = (saved[1] * upstream[0].to(saved[1].scalar_type()))
                      .to(ctx->saved_data["dtype"].toScalarType());
      } else {
        const auto& state = saved_value_as<WeightGradientState>(found->second);
        state.buffer.accumulate(state.pending, upstream[0]);
      }
    }
    tensor_list gradients(kArguments);
    gradients[0] = dx;
    gradients[1] = dweight;
    return gradients;
  }
};

void linear_cross_entropy_check(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                const LogitsOptions& options) {
  const auto vocabulary = options.vocabulary;
  check_dtype("linear_cross_entropy", "x", x);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.sym_size(1) == weight.sym_size(1),
              "[linear_cross_entropy] x must be [n, D] and weight [rows, D], but they are ",
              x.sym_sizes(), " and ", weight.sym_sizes());
  TORCH_CHECK(x.scalar_type() == weight.scalar_type() && x.device() == weight.device(),
              "[linear_cross_entropy] weight must be ", dtype_name(x.scalar_type()), " on ",
              x.device(), " like x, but is ", dtype_name(weight.scalar_type()), " on ",
              weight.device());
  TORCH_CHECK(targets.dim() == 1 && targets.sym_size(0) == x.sym_size(0) &&
                  targets.scalar_type() == at::kLong && targets.device() == x.device(),
              "[linear_cross_entropy] targets must be [", x.sym_size(0), "] of int64 on ",
              x.device(), ", but are ", targets.sym_sizes(), " of ",
              dtype_name(targets.scalar_type()), " on ", targets.device());
  TORCH_CHECK(vocabulary >= 1 && weight.sym_size(0) >= vocabulary,
              "[linear_cross_entropy] vocabulary must be 1 to ", weight.sym_size(0),
              ", the rows of weight, but is ", vocabulary);
  check_softcap("linear_cross_entropy", options.softcap);
  TORCH_CHECK(options.z_loss >= 0 && std::isfinite(options.z_loss),
              "[linear_cross_entropy] z_loss must be at least 0 and finite, but is ",
              options.z_loss);
}

/// \return loss and parts
tensor_list checked_linear_cross_entropy(const Tensor& x, const Tensor& weight,
                                         const Tensor& targets, const LogitsOptions& options,
                                         const GradientBuffer& gradient_buffer) {
  linear_cross_entropy_check(x, weight, targets, options);
  const bool recorded = at::GradMode::is_enabled();
  const bool for_weight = recorded && weight.requires_grad();
  const GradientBuffer none;
  const bool has_buffer = gradient_buffer && for_weight;
  return LinearCrossEntropyFunction::apply(x, weight, targets, options,
                                           recorded && x.requires_grad(), for_weight,
                                           has_buffer ? &gradient_buffer : &none);
}

Tensor linear_cross_entropy_autograd(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                     std::int64_t vocabulary, double scale,
                                     std::optional<double> softcap, double z_loss) {
  return checked_linear_cross_entropy(x, weight, targets, {vocabulary, scale, softcap, z_loss},
                                      {})[0];
}

}  // namespace

LossSums linear_cross_entropy_sums(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                   const LogitsOptions& options,
                                   const GradientBuffer& gradient_buffer) {
  const auto sums = checked_linear_cross_entropy(x, weight, targets, options, gradient_buffer);
  return {.total = sums[0], .cross_entropy = sums[1][0], .squared_lse = sums[1][1]};
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale=1., float? softcap=None, float z_loss=0.) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("linear_cross_entropy", linear_cross_entropy_autograd);
}

}  // namespace evenkeel::ops
