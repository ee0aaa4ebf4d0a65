// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/sigma_reparam.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using SigmaReparamSignature = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&);
using SigmaReparamForwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                const Tensor&, const Tensor&);
using SigmaReparamBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                 const Tensor&, const Tensor&,
                                                                 const Tensor&, const Tensor&);
using PowerIterationSignature = void(const Tensor&, const Tensor&, const Tensor&);

class SigmaReparamFunction : public torch::autograd::Function<SigmaReparamFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& v, const Tensor& gamma,
                        const Tensor& left, const Tensor& right) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<SigmaReparamForwardSignature>("evenkeel::sigma_reparam_forward");
    const auto [w, sigma] = op.call(v, gamma, left, right);
    // Clones, since a later pass moves the state while this pass's graph still needs it.
    ctx->save_for_backward({v, gamma, left.clone(), right.clone(), sigma});
    return w;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dw) {
    static const auto op =
        registered_operator<SigmaReparamBackwardSignature>("evenkeel::sigma_reparam_backward");
    const SavedTensors saved(ctx);
    const auto [dv, dgamma] = op.call(dw[0], saved[0], saved[1], saved[2], saved[3], saved[4]);
    return {dv, dgamma, Tensor(), Tensor()};
  }
};

void check_state(const char* op, const Tensor& v, const Tensor& left, const Tensor& right) {
  check_matrix_vector(op, "left", left, v, 0);
  check_matrix_vector(op, "right", right, v, 1);
}

Tensor sigma_reparam_autograd(const Tensor& v, const Tensor& gamma, const Tensor& left,
                              const Tensor& right) {
  check_state("sigma_reparam", v, left, right);
  const auto dtype = opmath_dtype(v.scalar_type());
  TORCH_CHECK(gamma.dim() == 1 && gamma.sym_size(0) == 1 && gamma.scalar_type() == dtype &&
                  gamma.device() == v.device(),
              "[sigma_reparam] gamma must be [1] of ", dtype_name(dtype), " on ", v.device(),
              ", but is ", gamma.sym_sizes(), " of ", dtype_name(gamma.scalar_type()), " on ",
              gamma.device());
  return SigmaReparamFunction::apply(v.contiguous(), gamma, left.contiguous(), right.contiguous());
}

std::tuple<Tensor, Tensor> sigma_reparam_forward_meta(const Tensor& v, const Tensor& /*gamma*/,
                                                      const Tensor& /*left*/,
                                                      const Tensor& /*right*/) {
  return {empty_contiguous_like(v), at::empty({}, v.options().dtype(at::kDouble))};
}

std::tuple<Tensor, Tensor> sigma_reparam_backward_meta(const Tensor& /*dw*/, const Tensor& v,
                                                       const Tensor& gamma, const Tensor& /*left*/,
                                                       const Tensor& /*right*/,
                                                       const Tensor& /*sigma*/) {
  return {empty_contiguous_like(v), empty_contiguous_like(gamma)};
}

/// In plain tensor operations, for devices without a kernel.
void power_iteration_by_operations(const Tensor& v, const Tensor& left, const Tensor& right) {
  check_state("power_iteration_", v, left, right);
  constexpr double kTiny = 1e-12;
  const auto wide = v.to(left.scalar_type());
  bump_version(left);
  bump_version(right);
  left.copy_(reference::unit_rows((wide * right).sum(-1), kTiny));
  right.copy_(reference::unit_rows((wide.t().contiguous() * left).sum(-1), kTiny));
}

void power_iteration_meta(const Tensor& v, const Tensor& left, const Tensor& right) {
  check_state("power_iteration_", v, left, right);
}

}  // namespace

Tensor sigma_reparam(const Tensor& v, const Tensor& gamma, const Tensor& left,
                     const Tensor& right) {
  static const auto op = registered_operator<SigmaReparamSignature>("evenkeel::sigma_reparam");
  return op.call(v, gamma, left, right);
}

void power_iteration_(const Tensor& v, const Tensor& left, const Tensor& right) {
  static const auto op = registered_operator<PowerIterationSignature>("evenkeel::power_iteration_");
  op.call(v, left, right);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("sigma_reparam(Tensor v, Tensor gamma, Tensor left, Tensor right) -> Tensor");
  m.def(
      "sigma_reparam_forward(Tensor v, Tensor gamma, Tensor left, Tensor right)"
      " -> (Tensor w, Tensor sigma)");
  m.def(
      "sigma_reparam_backward(Tensor dw, Tensor v, Tensor gamma, Tensor left, Tensor right,"
      " Tensor sigma) -> (Tensor dv, Tensor dgamma)");
  m.def("power_iteration_(Tensor v, Tensor(a!) left, Tensor(b!) right) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("sigma_reparam", sigma_reparam_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("power_iteration_", power_iteration_by_operations);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sigma_reparam_forward", sigma_reparam_forward_meta);
  m.impl("sigma_reparam_backward", sigma_reparam_backward_meta);
  m.impl("power_iteration_", power_iteration_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("sigma_reparam_forward", autograd_not_implemented());
  m.impl("sigma_reparam_backward", autograd_not_implemented());
  m.impl("power_iteration_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
