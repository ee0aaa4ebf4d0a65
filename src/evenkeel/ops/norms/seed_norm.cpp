// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/seed_norm.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using SeedNormSignature = Tensor(const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&,
                                 const OptionalTensor&, double);
using SeedNormBackwardSignature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&,
    const OptionalTensor&, double);

class SeedNormFunction : public torch::autograd::Function<SeedNormFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& alpha,
                        const Tensor& beta, const OptionalTensor& gain, const OptionalTensor& bias,
                        double epsilon) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<SeedNormSignature>("evenkeel::seed_norm_forward");
    ctx->save_for_backward({x, alpha, beta, gain.value_or(Tensor()), bias.value_or(Tensor())});
    ctx->saved_data["epsilon"] = epsilon;
    return op.call(x, alpha, beta, gain, bias, epsilon);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<SeedNormBackwardSignature>("evenkeel::seed_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[3]), bias = defined_or_none(saved[4]);
    const auto [dx, dalpha, dbeta, dgain, dbias] = op.call(
        dy[0], saved[0], saved[1], saved[2], gain, bias, ctx->saved_data["epsilon"].toDouble());
    const Tensor none;
    return {dx, dalpha, dbeta, gain ? dgain : none, bias ? dbias : none, none};
  }
};

Tensor seed_norm_autograd(const Tensor& x, const Tensor& alpha, const Tensor& beta,
                          const OptionalTensor& gain, const OptionalTensor& bias, double epsilon) {
  check_rows("seed_norm", x);
  check_vector_or_value("seed_norm", "alpha", alpha, x);
  check_vector_or_value("seed_norm", "beta", beta, x);
  check_vector_or_value("seed_norm", "gain", gain, x);
  check_vector_or_value("seed_norm", "bias", bias, x);
  check_epsilon("seed_norm", epsilon);
  return SeedNormFunction::apply(x, alpha, beta, gain, bias, epsilon);
}

}  // namespace

Tensor seed_norm(const Tensor& x, const Tensor& alpha, const Tensor& beta,
                 const OptionalTensor& gain, const OptionalTensor& bias, double epsilon) {
  static const auto op = registered_operator<SeedNormSignature>("evenkeel::seed_norm");
  return op.call(x, alpha, beta, gain, bias, epsilon);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "seed_norm(Tensor x, Tensor alpha, Tensor beta, Tensor? gain=None, Tensor? bias=None,"
      " float epsilon=1e-05) -> Tensor");
  m.def(
      "seed_norm_forward(Tensor x, Tensor alpha, Tensor beta, Tensor? gain, Tensor? bias,"
      " float epsilon) -> Tensor");
  m.def(
      "seed_norm_backward(Tensor dy, Tensor x, Tensor alpha, Tensor beta, Tensor? gain,"
      " Tensor? bias, float epsilon)"
      " -> (Tensor dx, Tensor dalpha, Tensor dbeta, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("seed_norm", seed_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("seed_norm_forward", autograd_not_implemented());
  m.impl("seed_norm_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor seed_norm_forward_meta(const Tensor& x, const Tensor& /*alpha*/, const Tensor& /*beta*/,
                              const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/,
                              double /*epsilon*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> seed_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const Tensor& beta,
    const OptionalTensor& gain, const OptionalTensor& bias, double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(alpha, x), empty_vector_gradient(beta, x),
          empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("seed_norm_forward", seed_norm_forward_meta);
  m.impl("seed_norm_backward", seed_norm_backward_meta);
}

}  // namespace evenkeel::ops
