// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/sphere.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using SphereStepSignature = Tensor(const Tensor&, const Tensor&, const Tensor&);
using SphereStepBackwardSignature = std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                       const Tensor&,
                                                                       const Tensor&);
using GeodesicStepSignature = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                     double);
using GeodesicStepBackwardSignature = std::tuple<Tensor, Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double);

class SphereStepFunction : public torch::autograd::Function<SphereStepFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& start, const Tensor& towards,
                        const Tensor& step) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<SphereStepSignature>("evenkeel::sphere_step_forward");
    ctx->save_for_backward({start, towards, step});
    return op.call(start, towards, step);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<SphereStepBackwardSignature>("evenkeel::sphere_step_backward");
    const SavedTensors saved(ctx);
    const auto [dstart, dtowards, dstep] = op.call(dy[0], saved[0], saved[1], saved[2]);
    return {dstart, dtowards, dstep};
  }
};

class GeodesicStepFunction : public torch::autograd::Function<GeodesicStepFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& g, const Tensor& scale,
                        const Tensor& bias, double decay) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<GeodesicStepSignature>("evenkeel::geodesic_step_forward");
    ctx->save_for_backward({x, g, scale, bias});
    ctx->saved_data["decay"] = decay;
    return op.call(x, g, scale, bias, decay);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<GeodesicStepBackwardSignature>("evenkeel::geodesic_step_backward");
    const SavedTensors saved(ctx);
    const auto [dx, dg, dscale, dbias] =
        op.call(dy[0], saved[0], saved[1], saved[2], saved[3], ctx->saved_data["decay"].toDouble());
    return {dx, dg, dscale, dbias, Tensor()};
  }
};

Tensor sphere_step_autograd(const Tensor& start, const Tensor& towards, const Tensor& step) {
  check_rows("sphere_step", start, "start");
  check_same("sphere_step", "towards", towards, "start", start);
  check_double("sphere_step", "step", step, start, /*is_value=*/false);
  return SphereStepFunction::apply(start, towards, step);
}

Tensor geodesic_step_autograd(const Tensor& x, const Tensor& g, const Tensor& scale,
                              const Tensor& bias, double decay) {
  check_rows("geodesic_step", x);
  check_same("geodesic_step", "g", g, "x", x);
  check_double("geodesic_step", "scale", scale, x, /*is_value=*/true);
  check_double("geodesic_step", "bias", bias, x, /*is_value=*/true);
  return GeodesicStepFunction::apply(x, g, scale, bias, decay);
}

}  // namespace

Tensor sphere_step(const Tensor& start, const Tensor& towards, const Tensor& step) {
  static const auto op = registered_operator<SphereStepSignature>("evenkeel::sphere_step");
  return op.call(start, towards, step);
}

Tensor geodesic_step(const Tensor& x, const Tensor& g, const Tensor& scale, const Tensor& bias,
                     double decay) {
  static const auto op = registered_operator<GeodesicStepSignature>("evenkeel::geodesic_step");
  return op.call(x, g, scale, bias, decay);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("sphere_step(Tensor start, Tensor towards, Tensor step) -> Tensor");
  m.def("sphere_step_forward(Tensor start, Tensor towards, Tensor step) -> Tensor");
  m.def(
      "sphere_step_backward(Tensor dy, Tensor start, Tensor towards, Tensor step)"
      " -> (Tensor dstart, Tensor dtowards, Tensor dstep)");
  m.def("geodesic_step(Tensor x, Tensor g, Tensor scale, Tensor bias, float decay=1.0) -> Tensor");
  m.def(
      "geodesic_step_forward(Tensor x, Tensor g, Tensor scale, Tensor bias, float decay)"
      " -> Tensor");
  m.def(
      "geodesic_step_backward(Tensor dy, Tensor x, Tensor g, Tensor scale, Tensor bias,"
      " float decay) -> (Tensor dx, Tensor dg, Tensor dscale, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("sphere_step", sphere_step_autograd);
  m.impl("geodesic_step", geodesic_step_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("sphere_step_forward", autograd_not_implemented());
  m.impl("sphere_step_backward", autograd_not_implemented());
  m.impl("geodesic_step_forward", autograd_not_implemented());
  m.impl("geodesic_step_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor sphere_step_forward_meta(const Tensor& start, const Tensor& /*towards*/,
                                const Tensor& /*step*/) {
  return empty_contiguous_like(start);
}

std::tuple<Tensor, Tensor, Tensor> sphere_step_backward_meta(const Tensor& /*dy*/,
                                                             const Tensor& start,
                                                             const Tensor& /*towards*/,
                                                             const Tensor& step) {
  return {empty_contiguous_like(start), empty_contiguous_like(start), empty_contiguous_like(step)};
}

Tensor geodesic_step_forward_meta(const Tensor& x, const Tensor& /*g*/, const Tensor& /*scale*/,
                                  const Tensor& /*bias*/, double /*decay*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_step_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& /*g*/, const Tensor& scale,
    const Tensor& bias, double /*decay*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(x), empty_contiguous_like(scale),
          empty_contiguous_like(bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sphere_step_forward", sphere_step_forward_meta);
  m.impl("sphere_step_backward", sphere_step_backward_meta);
  m.impl("geodesic_step_forward", geodesic_step_forward_meta);
  m.impl("geodesic_step_backward", geodesic_step_backward_meta);
}

}  // namespace evenkeel::ops
