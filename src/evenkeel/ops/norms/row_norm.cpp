// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/row_norm.h"

#include <torch/library.h>

#include <tuple>
#include <vector>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

using RowNormSignature = Tensor(const Tensor&, const OptionalTensor&, const OptionalTensor&,
                                std::int64_t, bool, double, bool, double, std::int64_t, bool);
using RowNormBackwardSignature = Tensor3(const Tensor&, const Tensor&, const OptionalTensor&,
                                         const OptionalTensor&, std::int64_t, bool, double, bool,
                                         double, std::int64_t, bool);

class RowNormFunction : public torch::autograd::Function<RowNormFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& gain,
                        const OptionalTensor& bias, std::int64_t groups, bool centred,
                        double partial, bool length, double epsilon, std::int64_t epsilon_at,
                        bool absmax8) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<RowNormSignature>("evenkeel::row_norm_forward");
    ctx->save_for_backward({x, gain.value_or(Tensor()), bias.value_or(Tensor())});
    ctx->saved_data["whole"] =
        std::vector<std::int64_t>{groups, centred, length, epsilon_at, absmax8};
    ctx->saved_data["real"] = std::vector<double>{partial, epsilon};
    return op.call(x, gain, bias, groups, centred, partial, length, epsilon, epsilon_at, absmax8);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<RowNormBackwardSignature>("evenkeel::row_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto bias = defined_or_none(saved[2]);
    const auto whole = ctx->saved_data["whole"].toIntVector();
    const auto real = ctx->saved_data["real"].toDoubleVector();
    const auto [dx, dgain, dbias] =
        op.call(dy[0], saved[0], gain, bias, whole[0], whole[1] != 0, real[0], whole[2] != 0,
                real[1], whole[3], whole[4] != 0);
    const Tensor none;
    return {dx, gain ? dgain : none, bias ? dbias : none, none, none, none, none, none, none, none};
  }
};

Tensor row_norm_autograd(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                         std::int64_t groups, bool centred, double partial, bool length,
                         double epsilon, std::int64_t epsilon_at, bool absmax8) {
  check_rows("row_norm", x);
  check_vector_or_value("row_norm", "gain", gain, x);
  check_vector_or_value("row_norm", "bias", bias, x);
  check_epsilon("row_norm", epsilon);
  TORCH_CHECK(groups >= 1 && x.sym_size(-1) % groups == 0,
              "[row_norm] groups must divide the width ", x.sym_size(-1), ", but is ", groups);
  TORCH_CHECK(partial > 0 && partial <= 1 && (!centred || partial == 1),
              "[row_norm] partial must be above 0, at most 1, and 1 of centred rows, but is ",
              partial);
  TORCH_CHECK(epsilon_at >= 0 && epsilon_at <= static_cast<std::int64_t>(EpsilonAt::clamp),
              "[row_norm] epsilon_at must be 0 (inside), 1 (outside) or 2 (clamp), but is ",
              epsilon_at);
  return RowNormFunction::apply(x, gain, bias, groups, centred, partial, length, epsilon,
                                epsilon_at, absmax8);
}

}  // namespace

Tensor row_norm(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                const RowNormOptions& options) {
  static const auto op = registered_operator<RowNormSignature>("evenkeel::row_norm");
  return op.call(x, gain, bias, options.groups, options.centred, options.partial, options.length,
                 options.epsilon, static_cast<std::int64_t>(options.epsilon_at), options.absmax8);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "row_norm(Tensor x, Tensor? gain, Tensor? bias=None, int groups=1, bool centred=False,"
      " float partial=1.0, bool length=False, float epsilon=1e-05, int epsilon_at=0,"
      " bool absmax8=False) -> Tensor");
  m.def(
      "row_norm_forward(Tensor x, Tensor? gain, Tensor? bias, int groups, bool centred,"
      " float partial, bool length, float epsilon, int epsilon_at, bool absmax8) -> Tensor");
  m.def(
      "row_norm_backward(Tensor dy, Tensor x, Tensor? gain, Tensor? bias, int groups,"
      " bool centred, float partial, bool length, float epsilon, int epsilon_at, bool absmax8)"
      " -> (Tensor dx, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("row_norm", row_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("row_norm_forward", autograd_not_implemented());
  m.impl("row_norm_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor row_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                             const OptionalTensor& /*bias*/, std::int64_t /*groups*/,
                             bool /*centred*/, double /*partial*/, bool /*length*/,
                             double /*epsilon*/, std::int64_t /*epsilon_at*/, bool /*absmax8*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor> row_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    std::int64_t /*groups*/, bool /*centred*/, double /*partial*/, bool /*length*/,
    double /*epsilon*/, std::int64_t /*epsilon_at*/, bool /*absmax8*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("row_norm_forward", row_norm_forward_meta);
  m.impl("row_norm_backward", row_norm_backward_meta);
}

}  // namespace evenkeel::ops
