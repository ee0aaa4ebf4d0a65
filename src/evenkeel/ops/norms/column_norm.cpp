// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/column_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/norms/column_norm_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;
using Tensor5 = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

using ColumnNormSignature = Tensor3(const Tensor&, const OptionalTensor&, const OptionalTensor&,
                                    double, std::int64_t);
using ColumnNormForwardSignature = Tensor5(const Tensor&, const OptionalTensor&,
                                           const OptionalTensor&, double, std::int64_t);
using ColumnNormBackwardSignature = Tensor3(const Tensor&, const Tensor&, const OptionalTensor&,
                                            const OptionalTensor&, const Tensor&, const Tensor&,
                                            const Tensor&);

class ColumnNormFunction : public torch::autograd::Function<ColumnNormFunction> {
 public:
  /// \param mean, variance  are written: no values of autograd's
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& gain,
                        const OptionalTensor& bias, double epsilon, std::int64_t epsilon_at,
                        Tensor* mean, Tensor* variance) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<ColumnNormForwardSignature>("evenkeel::column_norm_forward");
    auto [y, means, variances, rho, slope] = op.call(x, gain, bias, epsilon, epsilon_at);
    ctx->save_for_backward(
        {x, gain.value_or(Tensor()), bias.value_or(Tensor()), means, rho, slope});
    *mean = means;
    *variance = variances;
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<ColumnNormBackwardSignature>("evenkeel::column_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto bias = defined_or_none(saved[2]);
    const auto [dx, dgain, dbias] =
        op.call(dy[0], saved[0], gain, bias, saved[3], saved[4], saved[5]);
    const Tensor none;
    return {dx, gain ? dgain : none, bias ? dbias : none, none, none, none, none};
  }
};

Tensor3 column_norm_autograd(const Tensor& x, const OptionalTensor& gain,
                             const OptionalTensor& bias, double epsilon, std::int64_t epsilon_at) {
  check_dtype("column_norm", "x", x);
  TORCH_CHECK(x.dim() == 3 && x.sym_size(1) > 0,
              "[column_norm] x must be [sequences, positions, features] with a position at least, "
              "but is ",
              x.sym_sizes());
  for (const auto& [name, vector] : {std::pair("gain", &gain), std::pair("bias", &bias)}) {
    if (!*vector) continue;
    TORCH_CHECK((*vector)->dim() == 1 && (*vector)->sym_size(0) == x.sym_size(2) &&
                    (*vector)->scalar_type() == at::kDouble && (*vector)->device() == x.device(),
                "[column_norm] ", name, " must be float64 [", x.sym_size(2), "] on ", x.device(),
                ", but is ", dtype_name((*vector)->scalar_type()), " ", (*vector)->sym_sizes(),
                " on ", (*vector)->device());
  }
  check_epsilon("column_norm", epsilon);
  TORCH_CHECK(epsilon_at >= 0 && epsilon_at <= static_cast<std::int64_t>(EpsilonAt::clamp),
              "[column_norm] epsilon_at must be 0 (inside), 1 (outside) or 2 (clamp), but is ",
              epsilon_at);
  Tensor mean, variance;
  const auto y = ColumnNormFunction::apply(x, gain, bias, epsilon, epsilon_at, &mean, &variance);
  return {y, mean, variance};
}

}  // namespace

Tensor column_slope(const Tensor& variance, const Tensor& rho, double epsilon, EpsilonAt placement,
                    std::int64_t rows) {
  const auto count = static_cast<double>(rows);
  if (placement == EpsilonAt::inside) return rho / count;
  const auto root = variance.sqrt();
  const auto moves = placement == EpsilonAt::outside ? root > 0 : root > epsilon;
  return at::where(moves, at::where(moves, root, 1.0).reciprocal() / count, 0.0);
}

Tensor double_vector_or(const OptionalTensor& vector, double value, const Tensor& x) {
  if (vector) return vector->contiguous();
  return at::full({width_of(x)}, value, x.options().dtype(at::kDouble));
}

ColumnNormResult column_norm(const Tensor& x, const OptionalTensor& gain,
                             const OptionalTensor& bias, double epsilon, EpsilonAt epsilon_at) {
  static const auto op = registered_operator<ColumnNormSignature>("evenkeel::column_norm");
  auto [y, mean, variance] = op.call(x, gain, bias, epsilon, static_cast<std::int64_t>(epsilon_at));
  return {std::move(y), std::move(mean), std::move(variance)};
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "column_norm(Tensor x, Tensor? gain, Tensor? bias=None, float epsilon=1e-05,"
      " int epsilon_at=0) -> (Tensor y, Tensor mean, Tensor variance)");
  m.def(
      "column_norm_forward(Tensor x, Tensor? gain, Tensor? bias, float epsilon, int epsilon_at)"
      " -> (Tensor y, Tensor mean, Tensor variance, Tensor rho, Tensor slope)");
  m.def(
      "column_norm_backward(Tensor dy, Tensor x, Tensor? gain, Tensor? bias, Tensor mean,"
      " Tensor rho, Tensor slope) -> (Tensor dx, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("column_norm", column_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("column_norm_forward", autograd_not_implemented());
  m.impl("column_norm_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> column_norm_forward_meta(
    const Tensor& x, const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/,
    double /*epsilon*/, std::int64_t /*epsilon_at*/) {
  const auto of_columns = [&] {
    return at::empty_symint({x.sym_size(0), x.sym_size(2)}, x.options().dtype(at::kDouble));
  };
  return {empty_contiguous_like(x), of_columns(), of_columns(), of_columns(), of_columns()};
}

std::tuple<Tensor, Tensor, Tensor> column_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    const Tensor& /*mean*/, const Tensor& /*rho*/, const Tensor& /*slope*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("column_norm_forward", column_norm_forward_meta);
  m.impl("column_norm_backward", column_norm_backward_meta);
}

}  // namespace evenkeel::ops
