// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/qkv_rope.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include "evenkeel/ops/attention/qkv_norm_rope_common.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;
using QkvRopeSignature = Tensor3(const Tensor&, const Tensor&, const Tensor&, const Tensor&);

class QkvRopeFunction : public torch::autograd::Function<QkvRopeFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const Tensor& q, const Tensor& k,
                             const Tensor& v, const Tensor& cos_sin) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<QkvRopeSignature>("evenkeel::qkv_rope_forward");
    ctx->save_for_backward({cos_sin});
    const auto [rotated_q, rotated_k, copied_v] = op.call(q, k, v, cos_sin);
    return {rotated_q, rotated_k, copied_v};
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    static const auto op = registered_operator<QkvRopeSignature>("evenkeel::qkv_rope_backward");
    const SavedTensors saved(ctx);
    const auto [dq, dk, dv] = op.call(upstream[0], upstream[1], upstream[2], saved[0]);
    return {dq, dk, dv, Tensor()};
  }
};

void check_part(const char* name, const Tensor& part, const Tensor& q, const c10::SymInt& width) {
  TORCH_CHECK(part.dim() == 3 && part.sym_size(0) == q.sym_size(0) &&
                  part.sym_size(1) == q.sym_size(1) && part.sym_size(2) > 0 &&
                  part.sym_size(2) % width == 0 && part.scalar_type() == q.scalar_type() &&
                  part.device() == q.device(),
              "[qkv_rope] ", name, " must be [", q.sym_size(0), ", ", q.sym_size(1), ", heads * ",
              width, "] of ", dtype_name(q.scalar_type()), " on ", q.device(), ", but is ",
              part.sym_sizes(), " of ", dtype_name(part.scalar_type()), " on ", part.device());
}

Tensor3 qkv_rope_autograd(const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& cos_sin) {
  check_rows("qkv_rope", q, "q");
  TORCH_CHECK(q.dim() == 3 && cos_sin.dim() == 3 && cos_sin.sym_size(0) == q.sym_size(1) &&
                  cos_sin.sym_size(1) == 2 && cos_sin.sym_size(2) > 0 &&
                  cos_sin.scalar_type() == opmath_dtype(q.scalar_type()) &&
                  cos_sin.device() == q.device(),
              "[qkv_rope] q must be [B, T, heads * D] and cos_sin [T, 2, D / 2] of ",
              dtype_name(opmath_dtype(q.scalar_type())), " on ", q.device(), ", but they are ",
              q.sym_sizes(), " and ", cos_sin.sym_sizes(), " of ",
              dtype_name(cos_sin.scalar_type()), " on ", cos_sin.device());
  const auto width = 2 * cos_sin.sym_size(2);
  check_part("q", q, q, width);
  check_part("k", k, q, width);
  check_part("v", v, k, width);
  TORCH_CHECK(v.sym_size(2) == k.sym_size(2), "[qkv_rope] v must have the ", k.sym_size(2),
              " columns of k, but has ", v.sym_size(2));
  TORCH_CHECK(!at::GradMode::is_enabled() || !cos_sin.requires_grad(),
              "[qkv_rope] cos_sin has no gradient here, but requires one; detach it");
  const auto all = QkvRopeFunction::apply(q, k, v, cos_sin);
  return {all[0], all[1], all[2]};
}

Tensor3 qkv_rope_forward_meta(const Tensor& q, const Tensor& k, const Tensor& v,
                              const Tensor& cos_sin) {
  const auto width = 2 * cos_sin.sym_size(2);
  const auto heads_of = [&](const Tensor& part) {
    return at::empty_symint({part.sym_size(0), part.sym_size(1), part.sym_size(2) / width, width},
                            part.options());
  };
  return {heads_of(q), heads_of(k), heads_of(v)};
}

Tensor3 qkv_rope_backward_meta(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                               const Tensor& /*cos_sin*/) {
  const auto merged = [&](const Tensor& heads) {
    return at::empty_symint(
        {heads.sym_size(0), heads.sym_size(1), heads.sym_size(2) * heads.sym_size(3)},
        heads.options());
  };
  return {merged(dq), merged(dk), merged(dv)};
}

// On other devices q, k and v are concatenated.

constexpr double kNoEpsilon[3] = {0, 0, 0};

Tensor3 qkv_rope_forward_of_all(const Tensor& q, const Tensor& k, const Tensor& v,
                                const Tensor& cos_sin) {
  using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor>(
      const Tensor&, const Tensor&, std::int64_t, std::int64_t, const OptionalTensor&,
      const OptionalTensor&, const OptionalTensor&, at::ArrayRef<double>);
  static const auto op = registered_operator<Signature>("evenkeel::qkv_norm_rope_forward");
  const auto width = 2 * cos_sin.size(2);
  const auto [rotated_q, rotated_k, copied_v, rstd] =
      op.call(at::cat({q, k, v}, -1), cos_sin, q.size(2) / width, k.size(2) / width, std::nullopt,
              std::nullopt, std::nullopt, kNoEpsilon);
  return {rotated_q, rotated_k, copied_v};
}

Tensor3 qkv_rope_backward_of_all(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                 const Tensor& cos_sin) {
  using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor>(
      const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::int64_t,
      std::int64_t, const OptionalTensor&, const OptionalTensor&, const OptionalTensor&,
      const Tensor&);
  static const auto op = registered_operator<Signature>("evenkeel::qkv_norm_rope_backward");
  const auto heads = dq.size(2), kv_heads = dk.size(2), width = dq.size(3);
  const auto all = heads + 2 * kv_heads, tokens = dq.size(0) * dq.size(1);
  // Only its shape matters: a rotation's gradient does not depend on what was rotated.
  const auto qkv = at::empty({dq.size(0), dq.size(1), all * width}, dq.options());
  const auto rstd = at::ones({tokens, all}, dq.options().dtype(at::kDouble));
  const auto [dx, none_q, none_k, none_v] = op.call(dq, dk, dv, qkv, cos_sin, heads, kv_heads,
                                                    std::nullopt, std::nullopt, std::nullopt, rstd);
  const auto columns = qkv_columns(dx, heads, kv_heads);
  return {columns[0].contiguous(), columns[1].contiguous(), columns[2].contiguous()};
}

}  // namespace

Tensor3 qkv_rope(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cos_sin) {
  static const auto op = registered_operator<QkvRopeSignature>("evenkeel::qkv_rope");
  return op.call(q, k, v, cos_sin);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "qkv_rope(Tensor q, Tensor k, Tensor v, Tensor cos_sin)"
      " -> (Tensor q, Tensor k, Tensor v)");
  m.def(
      "qkv_rope_forward(Tensor q, Tensor k, Tensor v, Tensor cos_sin)"
      " -> (Tensor q, Tensor k, Tensor v)");
  m.def(
      "qkv_rope_backward(Tensor dq, Tensor dk, Tensor dv, Tensor cos_sin)"
      " -> (Tensor dq, Tensor dk, Tensor dv)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("qkv_rope", qkv_rope_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("qkv_rope_forward", qkv_rope_forward_of_all);
  m.impl("qkv_rope_backward", qkv_rope_backward_of_all);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("qkv_rope_forward", qkv_rope_forward_meta);
  m.impl("qkv_rope_backward", qkv_rope_backward_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("qkv_rope_forward", autograd_not_implemented());
  m.impl("qkv_rope_backward", autograd_not_implemented());
}

}  // namespace evenkeel::ops
