// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/moe/scale_rows.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using ScaleRowsSignature = Tensor(const Tensor&, const Tensor&);
using ScaleRowsBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                              const Tensor&);

class ScaleRowsFunction : public torch::autograd::Function<ScaleRowsFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weights) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<ScaleRowsSignature>("evenkeel::scale_rows_forward");
    ctx->save_for_backward({x, weights});
    return op.call(x, weights);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<ScaleRowsBackwardSignature>("evenkeel::scale_rows_backward");
    const SavedTensors saved(ctx);
    const auto [dx, dweights] = op.call(dy[0], saved[0], saved[1]);
    return {dx, dweights};
  }
};

Tensor scale_rows_autograd(const Tensor& x, const Tensor& weights) {
  check_dtype("scale_rows", "x", x);
  const auto dtype = opmath_dtype(x.scalar_type());
  TORCH_CHECK(x.dim() == 2 && weights.dim() == 1 && weights.sym_size(0) == x.sym_size(0),
              "[scale_rows] x must be [M, D] and weights [M], but they are ", x.sym_sizes(),
              " and ", weights.sym_sizes());
  TORCH_CHECK(weights.scalar_type() == dtype && weights.device() == x.device(),
              "[scale_rows] weights must be ", dtype_name(dtype), " on ", x.device(), ", for x of ",
              dtype_name(x.scalar_type()), ", but is ", dtype_name(weights.scalar_type()), " on ",
              weights.device());
  return ScaleRowsFunction::apply(x.contiguous(), weights.contiguous());
}

}  // namespace

Tensor scale_rows(const Tensor& x, const Tensor& weights) {
  static const auto op = registered_operator<ScaleRowsSignature>("evenkeel::scale_rows");
  return op.call(x, weights);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("scale_rows(Tensor x, Tensor weights) -> Tensor");
  m.def("scale_rows_forward(Tensor x, Tensor weights) -> Tensor");
  m.def("scale_rows_backward(Tensor dy, Tensor x, Tensor weights) -> (Tensor dx, Tensor dweights)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("scale_rows", scale_rows_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("scale_rows_forward", autograd_not_implemented());
  m.impl("scale_rows_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor scale_rows_forward_meta(const Tensor& x, const Tensor& /*weights*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor> scale_rows_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                    const Tensor& weights) {
  return {empty_contiguous_like(x), empty_contiguous_like(weights)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("scale_rows_forward", scale_rows_forward_meta);
  m.impl("scale_rows_backward", scale_rows_backward_meta);
}

}  // namespace evenkeel::ops
