// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/causality.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/random.h"
#include "evenkeel/probe/small_model.h"

namespace evenkeel::probe {

namespace {

constexpr double kCausalityRounding = 1e-12;  // float64 rounding
constexpr double kLeak = 1e-6;  // far above rounding, far below the effect of a statistic

/// The logits of a forward pass; restores the running statistics afterwards.
at::Tensor logits_of(const SmallModel& small, const at::Tensor& ids, nn::Mode mode) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> saved_states;
  for (const auto& [name, state] : small.parameters->states()) saved_states[name] = state.clone();
  const auto logits = small.model->logits(small.model->hidden(ids, {.mode = mode}));
  for (const auto& [name, state] : saved_states) small.parameters->find_state(name).copy_(state);
  return logits;
}

const char* causality_name_of(nn::Mode mode) {
  return mode == nn::Mode::training ? "training" : "evaluation";
}

}  // namespace

double causal_leakage(const norm::Scheme& scheme, nn::Mode mode, std::uint64_t seed) {
  const auto& shape = scheme.shape;
  const auto small = small_model(scheme, seed);
  const auto ids = random_tokens(seed, "probe/causality/ids", 2, shape.context, shape.vocabulary);
  const auto before = logits_of(small, ids, mode);
  double worst = 0;
  for (const auto position : {std::int64_t{1}, shape.context / 2, shape.context - 1}) {
    auto changed = ids.clone();
    changed.select(1, position).add_(1).remainder_(shape.vocabulary);
    const auto change = (logits_of(small, changed, mode) - before).abs();
    const auto earlier = change.narrow(1, 0, position).max().item<double>();
    worst = max_or_nan(worst, earlier / change.select(1, position).max().item<double>());
  }
  return worst;
}

bool leakage_expected(const norm::Scheme& scheme, nn::Mode mode) {
  const auto slots = norm::slots_of(scheme);
  return std::any_of(slots.begin(), slots.end(), [&](const norm::Slot& slot) {
    return mode == nn::Mode::training ? norm::mixes_tokens(slot.norm->kind)
                                      : norm::mixes_tokens_in_evaluation(slot.norm->kind);
  });
}

Claims causality_claims(const norm::Scheme& scheme, std::uint64_t seed) {
  Claims claims;
  for (const auto mode : {nn::Mode::training, nn::Mode::evaluation}) {
    const bool leak = leakage_expected(scheme, mode);
    claims.push_back({.subject = text(scheme.info.name, ", ", causality_name_of(mode)),
                      .statement = leak ? "outputs before a changed token change with it"
                                        : "outputs before a changed token stay",
                      .measured = causal_leakage(scheme, mode, seed),
                      .relation = leak ? Relation::at_least : Relation::at_most,
                      .limit = leak ? kLeak : kCausalityRounding});
  }
  return claims;
}

Claims causality_claims(std::uint64_t seed) {
  Claims claims;
  for (const auto& name : config::catalogue()) {
    const auto part =
        causality_claims(config::bind(config::find_scheme(name), small_shape()), seed);
    claims.insert(claims.end(), part.begin(), part.end());
  }
  return claims;
}

}  // namespace evenkeel::probe
