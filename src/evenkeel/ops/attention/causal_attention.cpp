// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/causal_attention.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cmath>
#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using DocumentStarts = std::optional<Tensor>;
using CausalAttentionSignature = Tensor(const Tensor&, const Tensor&, const Tensor&, double,
                                        std::optional<double>, const DocumentStarts&);
using CausalAttentionForwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                   const Tensor&, double,
                                                                   std::optional<double>,
                                                                   const DocumentStarts&);
using CausalAttentionBackwardSignature = std::tuple<Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
    double, std::optional<double>, const DocumentStarts&);

using LargestScoresSignature = Tensor(const Tensor&, const Tensor&, double, const DocumentStarts&);

class CausalAttentionFunction : public torch::autograd::Function<CausalAttentionFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        double scale, std::optional<double> softcap,
                        const DocumentStarts& document_starts) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<CausalAttentionForwardSignature>("evenkeel::causal_attention_forward");
    const auto [y, lse] = op.call(q, k, v, scale, softcap, document_starts);
    ctx->save_for_backward({q, k, v, y, lse, document_starts.value_or(Tensor())});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["softcap"] = softcap;
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op = registered_operator<CausalAttentionBackwardSignature>(
        "evenkeel::causal_attention_backward");
    const SavedTensors saved(ctx);
    const auto document_starts = saved[5].defined() ? DocumentStarts(saved[5]) : DocumentStarts();
    const auto [dq, dk, dv] =
        op.call(dy[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                ctx->saved_data["scale"].toDouble(),
                ctx->saved_data["softcap"].toOptional<double>(), document_starts);
    return {dq, dk, dv, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                     const std::optional<Tensor>& document_starts) {
  check_same("causal_attention", "v", v, "k", k);
  check_rows("causal_attention", q, "q");
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && q.sym_size(0) == k.sym_size(0) &&
                  q.sym_size(3) == k.sym_size(3) && q.sym_size(1) <= k.sym_size(1) &&
                  k.sym_size(2) > 0 && q.sym_size(2) % k.sym_size(2) == 0 &&
                  q.scalar_type() == k.scalar_type() && q.device() == k.device(),
              "[causal_attention] q must be [B, T, heads, D] and k [B, S, kv_heads, D] of the same "
              "dtype, with T at most S and kv_heads a divisor of heads, but they are ",
              q.sym_sizes(), " of ", dtype_name(q.scalar_type()), " on ", q.device(), " and ",
              k.sym_sizes(), " of ", dtype_name(k.scalar_type()), " on ", k.device());
  TORCH_CHECK(!document_starts ||
                  (document_starts->dim() == 2 && document_starts->scalar_type() == at::kInt &&
                   document_starts->sym_size(0) == q.sym_size(0) &&
                   document_starts->sym_size(1) == q.sym_size(1) &&
                   document_starts->device() == q.device()),
              "[causal_attention] document_starts must be [B, T] of int32 on ", q.device(),
              ", but is ", document_starts ? document_starts->sym_sizes() : c10::SymIntArrayRef(),
              " of ", document_starts ? dtype_name(document_starts->scalar_type()) : "nothing",
              " on ", document_starts ? document_starts->device() : q.device());
}

namespace {

Tensor causal_attention_autograd(const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                                 std::optional<double> softcap,
                                 const DocumentStarts& document_starts) {
  check_attention(q, k, v, document_starts);
  TORCH_CHECK(std::isfinite(scale), "[causal_attention] scale must be finite, but is ", scale);
  check_softcap("causal_attention", softcap);
  return CausalAttentionFunction::apply(q, k, v, scale, softcap, document_starts);
}

}  // namespace

Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                        std::optional<double> softcap,
                        const std::optional<at::Tensor>& document_starts) {
  static const auto op =
      registered_operator<CausalAttentionSignature>("evenkeel::causal_attention");
  return op.call(q, k, v, scale, softcap, document_starts);
}

Tensor largest_scores(const Tensor& q, const Tensor& k, double scale,
                      const std::optional<Tensor>& document_starts) {
  static const auto op = registered_operator<LargestScoresSignature>("evenkeel::largest_scores");
  check_attention(q, k, k, document_starts);
  return op.call(q, k, scale, document_starts);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "causal_attention(Tensor q, Tensor k, Tensor v, float scale, float? softcap,"
      " Tensor? document_starts=None) -> Tensor");
  m.def(
      "causal_attention_forward(Tensor q, Tensor k, Tensor v, float scale, float? softcap,"
      " Tensor? document_starts=None) -> (Tensor y, Tensor lse)");
  m.def("largest_scores(Tensor q, Tensor k, float scale, Tensor? document_starts=None) -> Tensor");
  m.def(
      "causal_attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor y, Tensor lse,"
      " float scale, float? softcap, Tensor? document_starts=None) -> (Tensor dq, Tensor dk, "
      "Tensor dv)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("causal_attention", causal_attention_autograd);
}

namespace {

/// The result has no gradient: it is for monitoring.
Tensor largest_scores_autograd(const Tensor& q, const Tensor& k, double scale,
                               const std::optional<Tensor>& document_starts) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  static const auto op = registered_operator<LargestScoresSignature>("evenkeel::largest_scores");
  return op.call(q, k, scale, document_starts);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("causal_attention_forward", autograd_not_implemented());
  m.impl("causal_attention_backward", autograd_not_implemented());
  m.impl("largest_scores", largest_scores_autograd);
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> causal_attention_forward_meta(
    const Tensor& q, const Tensor& /*k*/, const Tensor& /*v*/, double /*scale*/,
    std::optional<double> /*softcap*/, const std::optional<Tensor>& /*document_starts*/) {
  return {empty_contiguous_like(q),
          at::empty_symint({q.sym_size(0), q.sym_size(2), q.sym_size(1)},
                           q.options().dtype(opmath_dtype(q.scalar_type())))};
}

std::tuple<Tensor, Tensor, Tensor> causal_attention_backward_meta(
    const Tensor& /*dy*/, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& /*y*/,
    const Tensor& /*lse*/, double /*scale*/, std::optional<double> /*softcap*/,
    const std::optional<Tensor>& /*document_starts*/) {
  return {empty_contiguous_like(q), empty_contiguous_like(k), empty_contiguous_like(v)};
}

Tensor largest_scores_meta(const Tensor& q, const Tensor& k, double /*scale*/,
                           const std::optional<Tensor>& document_starts) {
  check_attention(q, k, k, document_starts);
  return at::empty_symint({q.sym_size(2)}, q.options().dtype(at::kDouble));
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("causal_attention_forward", causal_attention_forward_meta);
  m.impl("causal_attention_backward", causal_attention_backward_meta);
  m.impl("largest_scores", largest_scores_meta);
}

}  // namespace evenkeel::ops
