// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/weight_norm.h"

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using WeightNormSignature = Tensor(const Tensor&, const Tensor&);
using WeightNormBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                               const Tensor&);

class WeightNormFunction : public torch::autograd::Function<WeightNormFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& v, const Tensor& row_gain) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<WeightNormSignature>("evenkeel::weight_norm_forward");
    ctx->save_for_backward({v, row_gain});
    return op.call(v, row_gain);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dw) {
    static const auto op =
        registered_operator<WeightNormBackwardSignature>("evenkeel::weight_norm_backward");
    const SavedTensors saved(ctx);
    const auto [dv, dgain] = op.call(dw[0], saved[0], saved[1]);
    return {dv, dgain};
  }
};

Tensor weight_norm_autograd(const Tensor& v, const Tensor& row_gain) {
  check_matrix_vector("weight_norm", "row_gain", row_gain, v, 0);
  return WeightNormFunction::apply(v.contiguous(), row_gain.contiguous());
}

Tensor weight_norm_forward_meta(const Tensor& v, const Tensor& /*row_gain*/) {
  return empty_contiguous_like(v);
}

std::tuple<Tensor, Tensor> weight_norm_backward_meta(const Tensor& /*dw*/, const Tensor& v,
                                                     const Tensor& row_gain) {
  return {empty_contiguous_like(v), empty_contiguous_like(row_gain)};
}

}  // namespace

Tensor weight_norm(const Tensor& v, const Tensor& row_gain) {
  static const auto op = registered_operator<WeightNormSignature>("evenkeel::weight_norm");
  return op.call(v, row_gain);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("weight_norm(Tensor v, Tensor row_gain) -> Tensor");
  m.def("weight_norm_forward(Tensor v, Tensor row_gain) -> Tensor");
  m.def("weight_norm_backward(Tensor dw, Tensor v, Tensor row_gain) -> (Tensor dv, Tensor dgain)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("weight_norm", weight_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("weight_norm_forward", weight_norm_forward_meta);
  m.impl("weight_norm_backward", weight_norm_backward_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("weight_norm_forward", autograd_not_implemented());
  m.impl("weight_norm_backward", autograd_not_implemented());
}

}  // namespace evenkeel::ops
