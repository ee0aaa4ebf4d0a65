// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/mixture_of_experts.h"

#include <ATen/ATen.h>

#include <utility>

#include "evenkeel/nn/grouped_linear.h"
#include "evenkeel/ops/common/deterministic_softmax.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/swiglu.h"
#include "evenkeel/ops/moe/scale_rows.h"

namespace evenkeel::nn {

namespace {

/// rows * router^T, [N, E]. It is a grouped product with one group: MKL splits the gradient of so
/// small a matrix over the rows, and its bits would depend on the number of threads.
at::Tensor router_logits(const at::Tensor& rows, const at::Tensor& router) {
  const auto offsets = at::tensor({std::int64_t{0}, rows.size(0)}, rows.options().dtype(at::kLong));
  return grouped_linear(rows, router.unsqueeze(0), offsets);
}

/// \param rows  [N, D]
Routing routing_of(const MixtureOfExperts& mixture, const at::Tensor& rows) {
  Routing routing;
  routing.logits = router_logits(rows.to(mixture.router.scalar_type()), mixture.router);
  routing.probabilities = ops::deterministic_softmax(routing.logits);
  auto scores = routing.probabilities.detach();
  if (mixture.bias.defined()) scores = scores + mixture.bias;
  routing.assignment = expert_assignment(scores, mixture.top_k);
  routing.weights = routing.probabilities.gather(1, routing.assignment.top_experts);
  if (mixture.renormalize) {
    routing.weights = routing.weights / routing.weights.sum(-1, /*keepdim=*/true);
  }
  return routing;
}

}  // namespace

RouterLosses router_losses(const Routing& routing) {
  const auto& assignment = routing.assignment;
  const auto choices = static_cast<double>(assignment.tokens() * assignment.top_k());
  const auto counts = assignment.tokens_per_expert().to(routing.probabilities.scalar_type());
  const auto experts = static_cast<double>(assignment.experts());
  const ops::SerialLibraries one_thread;  // sums over tokens
  return {.balance = (counts * routing.probabilities.mean(0)).sum() * (experts / choices),
          .z = at::logsumexp(routing.logits, -1).square().sum() / choices};
}

at::Tensor MixtureOfExperts::operator()(const at::Tensor& x, Mode mode,
                                        Routing* routing_out) const {
  const auto rows = x.flatten(0, -2);
  auto routing = routing_of(*this, rows);
  auto y = fused ? grouped(rows, routing, mode) : expert_by_expert(rows, routing, mode);
  if (shared) y = y + (*shared)(rows, mode);
  if (routing_out != nullptr) *routing_out = std::move(routing);
  return y.view_as(x);
}

/// All experts in one grouped product, on rows sorted by expert. \param rows  [N, D]
at::Tensor MixtureOfExperts::grouped(const at::Tensor& rows, const Routing& routing,
                                     Mode mode) const {
  const auto& assignment = routing.assignment;
  const auto products =
      grouped_linear(dispatch(rows, assignment), up_gate.weight(mode), assignment.offsets);
  auto hidden = ops::swiglu(products);
  if (hidden_norm) hidden = (*hidden_norm)(hidden, mode);
  const auto weights = routing.weights.flatten().index_select(0, assignment.permutation);
  return combine(
      grouped_linear(ops::scale_rows(hidden, weights), down.weight(mode), assignment.offsets),
      assignment);
}

/// The formula: each expert gathers its tokens and adds its outputs. \param rows  [N, D]
at::Tensor MixtureOfExperts::expert_by_expert(const at::Tensor& rows, const Routing& routing,
                                              Mode mode) const {
  const auto up_gates = up_gate(mode);
  const auto downs = down(mode);
  auto y = at::zeros_like(rows);
  for (std::int64_t e = 0; e < up_gates.size(0); ++e) {
    const auto found = (routing.assignment.top_experts == e).nonzero();
    if (found.size(0) == 0) continue;
    const auto token = found.select(1, 0);
    auto hidden =
        ops::reference::swiglu(ops::deterministic_linear(rows.index_select(0, token), up_gates[e]));
    if (hidden_norm) hidden = (*hidden_norm)(hidden, mode);
    const auto weight = routing.weights.index({token, found.select(1, 1)}).unsqueeze(-1);
    y = y.index_add(0, token,
                    (ops::deterministic_linear(hidden, downs[e]) * weight).to(y.scalar_type()));
  }
  return y;
}

}  // namespace evenkeel::nn
