// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/qkv_norm_rope.h"

#include <ATen/ops/empty.h>
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
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using Numbers = at::ArrayRef<double>;

using QkvNormRopeSignature = Tensor3(const Tensor&, const Tensor&, std::int64_t, std::int64_t,
                                     const OptionalTensor&, const OptionalTensor&,
                                     const OptionalTensor&, Numbers);
using QkvNormRopeForwardSignature = Tensor4(const Tensor&, const Tensor&, std::int64_t,
                                            std::int64_t, const OptionalTensor&,
                                            const OptionalTensor&, const OptionalTensor&, Numbers);
using QkvNormRopeBackwardSignature = Tensor4(const Tensor&, const Tensor&, const Tensor&,
                                             const Tensor&, const Tensor&, std::int64_t,
                                             std::int64_t, const OptionalTensor&,
                                             const OptionalTensor&, const OptionalTensor&,
                                             const Tensor&);

class QkvNormRopeFunction : public torch::autograd::Function<QkvNormRopeFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const Tensor& qkv, const Tensor& cos_sin,
                             std::int64_t heads, std::int64_t kv_heads,
                             const OptionalTensor& q_gain, const OptionalTensor& k_gain,
                             const OptionalTensor& v_gain, const std::vector<double>& epsilon) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<QkvNormRopeForwardSignature>("evenkeel::qkv_norm_rope_forward");
    const auto [q, k, v, rstd] =
        op.call(qkv, cos_sin, heads, kv_heads, q_gain, k_gain, v_gain, epsilon);
    ctx->save_for_backward({qkv, cos_sin, rstd, q_gain.value_or(Tensor()),
                            k_gain.value_or(Tensor()), v_gain.value_or(Tensor())});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    return {q, k, v};
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    static const auto op =
        registered_operator<QkvNormRopeBackwardSignature>("evenkeel::qkv_norm_rope_backward");
    const SavedTensors saved(ctx);
    const auto q_gain = defined_or_none(saved[3]), k_gain = defined_or_none(saved[4]),
               v_gain = defined_or_none(saved[5]);
    const auto [dx, dq, dk, dv] = op.call(
        upstream[0], upstream[1], upstream[2], saved[0], saved[1], ctx->saved_data["heads"].toInt(),
        ctx->saved_data["kv_heads"].toInt(), q_gain, k_gain, v_gain, saved[2]);
    return {dx,
            Tensor(),
            Tensor(),
            Tensor(),
            q_gain ? dq : Tensor(),
            k_gain ? dk : Tensor(),
            v_gain ? dv : Tensor(),
            Tensor()};
  }
};

void check_gain(const char* name, const OptionalTensor& gain, const Tensor& qkv,
                const c10::SymInt& width) {
  if (!gain) return;
  TORCH_CHECK(gain->dim() == 1 && gain->sym_size(0) == width &&
                  gain->scalar_type() == opmath_dtype(qkv.scalar_type()) &&
                  gain->device() == qkv.device(),
              "[qkv_norm_rope] ", name, " must be [", width, "] of ",
              dtype_name(opmath_dtype(qkv.scalar_type())), " on ", qkv.device(), ", but is ",
              gain->sym_sizes(), " of ", dtype_name(gain->scalar_type()), " on ", gain->device());
}

Tensor3 qkv_norm_rope_autograd(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                               std::int64_t kv_heads, const OptionalTensor& q_gain,
                               const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                               Numbers epsilon) {
  check_rows("qkv_norm_rope", qkv, "qkv");
  constexpr std::int64_t kMost = 1 << 20;  // heads; far from overflow
  const auto all = heads + 2 * kv_heads;
  TORCH_CHECK(heads > 0 && heads <= kMost && kv_heads > 0 && kv_heads <= kMost && qkv.dim() == 3 &&
                  qkv.sym_size(-1) % (2 * all) == 0,
              "[qkv_norm_rope] qkv must be [B, T, ", all, " * D] with an even D for ", heads,
              " heads and ", kv_heads, " key heads, but is ", qkv.sym_sizes());
  const auto width = qkv.sym_size(-1) / all;
  TORCH_CHECK(cos_sin.dim() == 3 && cos_sin.sym_size(0) == qkv.sym_size(1) &&
                  cos_sin.sym_size(1) == 2 && cos_sin.sym_size(2) * 2 == width &&
                  cos_sin.scalar_type() == opmath_dtype(qkv.scalar_type()) &&
                  cos_sin.device() == qkv.device(),
              "[qkv_norm_rope] cos_sin must be [", qkv.sym_size(1), ", 2, ", width / 2, "] of ",
              dtype_name(opmath_dtype(qkv.scalar_type())), " on ", qkv.device(), ", but is ",
              cos_sin.sym_sizes(), " of ", dtype_name(cos_sin.scalar_type()), " on ",
              cos_sin.device());
  TORCH_CHECK(!at::GradMode::is_enabled() || !cos_sin.requires_grad(),
              "[qkv_norm_rope] cos_sin has no gradient here, but requires one; detach it");
  check_gain("q_gain", q_gain, qkv, width);
  check_gain("k_gain", k_gain, qkv, width);
  check_gain("v_gain", v_gain, qkv, width);
  TORCH_CHECK(epsilon.size() == 3, "[qkv_norm_rope] epsilon must be 3 numbers, but is ",
              epsilon.size());
  for (const auto each : epsilon) check_epsilon("qkv_norm_rope", each);
  const auto all_three = QkvNormRopeFunction::apply(qkv, cos_sin, heads, kv_heads, q_gain, k_gain,
                                                    v_gain, epsilon.vec());
  return {all_three[0], all_three[1], all_three[2]};
}

}  // namespace

Tensor3 qkv_norm_rope(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                      std::int64_t kv_heads, const HeadNorm& q, const HeadNorm& k,
                      const HeadNorm& v) {
  static const auto op = registered_operator<QkvNormRopeSignature>("evenkeel::qkv_norm_rope");
  return op.call(qkv, cos_sin, heads, kv_heads, q.gain, k.gain, v.gain,
                 {q.epsilon, k.epsilon, v.epsilon});
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "qkv_norm_rope(Tensor qkv, Tensor cos_sin, int heads, int kv_heads, Tensor? q_gain,"
      " Tensor? k_gain, Tensor? v_gain, float[] epsilon) -> (Tensor q, Tensor k, Tensor v)");
  m.def(
      "qkv_norm_rope_forward(Tensor qkv, Tensor cos_sin, int heads, int kv_heads,"
      " Tensor? q_gain, Tensor? k_gain, Tensor? v_gain, float[] epsilon)"
      " -> (Tensor q, Tensor k, Tensor v, Tensor rstd)");
  m.def(
      "qkv_norm_rope_backward(Tensor dq, Tensor dk, Tensor dv, Tensor qkv, Tensor cos_sin,"
      " int heads, int kv_heads, Tensor? q_gain, Tensor? k_gain, Tensor? v_gain, Tensor rstd)"
      " -> (Tensor dqkv, Tensor dq_gain, Tensor dk_gain, Tensor dv_gain)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("qkv_norm_rope", qkv_norm_rope_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("qkv_norm_rope_forward", autograd_not_implemented());
  m.impl("qkv_norm_rope_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Tensor4 qkv_norm_rope_forward_meta(const Tensor& qkv, const Tensor& /*cos_sin*/, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& /*q_gain*/,
                                   const OptionalTensor& /*k_gain*/,
                                   const OptionalTensor& /*v_gain*/,
                                   at::ArrayRef<double> /*epsilon*/) {
  const auto batch = qkv.sym_size(0), positions = qkv.sym_size(1);
  const auto all = heads + 2 * kv_heads;
  const auto width = qkv.sym_size(2) / all;
  const auto part = [&](std::int64_t count) {
    return at::empty_symint({batch, positions, count, width}, qkv.options());
  };
  return {part(heads), part(kv_heads), part(kv_heads),
          at::empty_symint({batch * positions, all}, qkv.options().dtype(at::kDouble))};
}

Tensor4 qkv_norm_rope_backward_meta(const Tensor& /*dq*/, const Tensor& /*dk*/,
                                    const Tensor& /*dv*/, const Tensor& qkv,
                                    const Tensor& /*cos_sin*/, std::int64_t /*heads*/,
                                    std::int64_t /*kv_heads*/, const OptionalTensor& q_gain,
                                    const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                    const Tensor& /*rstd*/) {
  return {empty_contiguous_like(qkv), empty_vector_gradient(q_gain, qkv),
          empty_vector_gradient(k_gain, qkv), empty_vector_gradient(v_gain, qkv)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_meta);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_meta);
}

}  // namespace evenkeel::ops
