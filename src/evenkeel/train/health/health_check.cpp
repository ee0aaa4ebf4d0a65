// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/probe/activation_recorder.h"
#include "evenkeel/train/health/depth_check.h"

namespace evenkeel::train {

namespace {

/// The entropy of uniform causal attention weights in nats: the mean of ln(i) over queries i = 1
/// ... T.
double uniform_entropy(std::int64_t positions) {
  double sum = 0;
  for (std::int64_t i = 1; i <= positions; ++i) sum += std::log(static_cast<double>(i));
  return sum / static_cast<double>(positions);
}

/// The attention inputs without a norm, as a list: "q, k".
std::string unnormalized_inputs(const norm::Attention& attention, bool values_too) {
  std::string out;
  if (!attention.q) out = norm::joined(out, "q", ", ");
  if (!attention.k) out = norm::joined(out, "k", ", ");
  if (values_too && !attention.v && !attention.context) out = norm::joined(out, "v", ", ");
  return out;
}

bool has_qk_clip(const norm::Scheme& scheme) {
  return std::any_of(scheme.hooks.begin(), scheme.hooks.end(),
                     [](const norm::Hook& hook) { return hook.kind == "qk_clip"; });
}

/// Settings that bound attention scores and that the scheme does not have yet, as a list.
std::string score_remedies(const norm::Scheme& scheme, const norm::Attention& attention) {
  std::string out;
  if (!attention.q || !attention.k) out = "norms on q and k (as in hybrid_norm)";
  if (!attention.softcap) out = norm::joined(out, "a soft cap", ", ");
  if (!has_qk_clip(scheme)) out = norm::joined(out, "hook qk_clip", ", ");
  return norm::joined(out, "a lower schedule.peak", ", ");
}

void check_routing(const probe::RoutingStats& routing, std::vector<HealthEvent>& events) {
  constexpr double kUnderloaded = 0.1;  // in units of the mean load
  constexpr double kMinChoices = 16;    // per expert; with fewer, some experts are empty by chance
  constexpr double kLarge = 50;
  for (std::size_t i = 0; i < routing.blocks.size(); ++i) {
    const auto& tokens = routing.tokens[i];
    const auto experts = static_cast<double>(tokens.size());
    const auto all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
    const double least = kUnderloaded * static_cast<double>(all) / experts;
    const auto underloaded = std::count_if(tokens.begin(), tokens.end(), [&](std::int64_t count) {
      return static_cast<double>(count) < least;
    });
    const auto l = routing.blocks[i];
    const auto router = text("blocks.", l - 1, ".feed_forward.router.weight");
    const bool has_enough_choices = static_cast<double>(all) >= kMinChoices * experts;
    if (has_enough_choices && 2 * static_cast<double>(underloaded) >= experts) {
      events.push_back(
          {.kind = "routing",
           .layer = l,
           .tensor = router,
           .observation = text(underloaded, " of ", tokens.size(),
                               " experts got less than a tenth of the mean load"),
           .explanation = "the routing collapses: experts without tokens learn nothing",
           .remedy = "a larger model.experts.balance, model.experts.bias_rate, or a lower "
                     "schedule.peak"});
    } else if (routing.largest_logit[i] > kLarge) {
      events.push_back(
          {.kind = "router_logits",
           .layer = l,
           .tensor = router,
           .observation = text("router logits up to ", with_digits(routing.largest_logit[i], 3)),
           .explanation = "the router's probabilities are saturated, so that it no longer learns",
           .remedy = "a larger model.experts.router_z, or a lower schedule.peak"});
    }
  }
}

}  // namespace

std::vector<HealthEvent> HealthCheck::operator()(std::int64_t step, const data::Batch& batch,
                                                 const std::vector<at::Tensor>& gradients,
                                                 const probe::RoutingStats& routing) {
  const at::NoGradGuard no_grad;
  std::vector<HealthEvent> events;
  if (step > 1) check_routing(routing, events);  // initial routers are random
  check_attention(batch, events);
  check_gains(events);
  if (step > 1) check_frozen(gradients, events);  // at step 1 some gains have a gradient of 0
  const norm::Steps before = {.done = step - 1, .planned = planned_};
  for (auto& event : check_depth(*parameters_, gradients, model_->scheme(), before)) {
    events.push_back(std::move(event));
  }
  return events;
}

void HealthCheck::check_attention(const data::Batch& batch, std::vector<HealthEvent>& events) {
  const auto row = data::batch_slice(batch, 0, 1);
  // The first positions only: scores of a long sequence would need more memory than the step.
  constexpr std::int64_t kPositions = 512;
  const auto all_ids = nn::batch_tensors(row.inputs, row.targets, 1).first;
  const auto ids = all_ids.narrow(1, 0, std::min(kPositions, all_ids.size(1)));
  const auto layers = model_->scheme().shape.layers;
  probe::ActivationRecorder recorder(layers,
                                     {"attention_entropy", "attention_logit_max", "token_cosine"});
  const auto observer = recorder.observer();
  model_->hidden(ids, {.observer = &observer});
  std::vector<double> entropy, scores;
  for (const auto& profile : recorder.profiles()) {
    if (profile.measure == "attention_entropy") entropy = profile.values;
    if (profile.measure == "attention_logit_max" && profile.part.empty()) scores = profile.values;
    if (profile.measure == "token_cosine") check_collapse(profile.values.back(), events);
  }
  check_attention_scores(scores, entropy, uniform_entropy(ids.size(1)), events);
}

/// \param cosine  mean cosine over all pairs of positions, last residual stream
void HealthCheck::check_collapse(double cosine, std::vector<HealthEvent>& events) {
  constexpr double kCollapsed = 0.99;
  const bool collapsed = cosine > kCollapsed;  // a single early collapse may be temporary
  if (!std::exchange(was_collapsed_, collapsed) || !collapsed) return;
  events.push_back(
      {.kind = "collapse",
       .layer = model_->scheme().shape.layers,
       .tensor = "residual stream",
       .observation = text("the stream of all positions points the same way, mean cosine ",
                           with_digits(cosine, 4)),
       .explanation = "the branches no longer depend on the text",
       .remedy = "a lower schedule.peak, or a longer schedule.warmup"});
}

/// \param scores   largest attention score of each block
/// \param entropy  mean attention entropy of each block, nats
/// \param uniform  entropy of uniform attention weights, nats
void HealthCheck::check_attention_scores(const std::vector<double>& scores,
                                         const std::vector<double>& entropy, double uniform,
                                         std::vector<HealthEvent>& events) {
  constexpr double kLarge = 100;  // the softmax is one-hot far below
  constexpr double kGrown = 4;
  constexpr double kPeaked = 0.02;  // in units of the uniform entropy
  if (initial_scores_.size() != scores.size()) initial_scores_ = scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto l = static_cast<std::int64_t>(i) + 1;
    const auto& attention = model_->scheme().blocks[i].attention;
    const auto unbound = unnormalized_inputs(attention, /*values_too=*/false);
    const auto unnormalized = unnormalized_inputs(attention, /*values_too=*/true);
    if (scores[i] > kLarge && scores[i] > kGrown * std::abs(initial_scores_[i])) {
      events.push_back(
          {.kind = "logits",
           .layer = l,
           .tensor = text("blocks.", i, ".attention.qkv.weight"),
           .observation = text("attention scores up to ", with_digits(scores[i], 3), ", ",
                               with_digits(initial_scores_[i], 3), " at the start"),
           .explanation =
               unbound.empty() ? "the gains of q and k grow" : text("no norm bounds ", unbound),
           .remedy = score_remedies(model_->scheme(), attention)});
    } else if (entropy[i] < kPeaked * uniform) {
      events.push_back(
          {.kind = "entropy",
           .layer = l,
           .tensor = text("blocks.", i, ".attention.qkv.weight"),
           .observation = text("attention entropy ", with_digits(entropy[i], 3), " of ",
                               with_digits(uniform, 3), " nats"),
           .explanation = unnormalized.empty()
                              ? "attention has collapsed"
                              : text("attention has collapsed; no norm bounds ", unnormalized),
           .remedy = "norms on q, k and v (scheme hybrid_norm), or a lower schedule.peak"});
    }
  }
}

void HealthCheck::check_gains(std::vector<HealthEvent>& events) const {
  constexpr double kDead = 1e-3, kFar = 10;  // in units of the initial value
  const auto& scheme = model_->scheme();
  for (const auto& slot : norm::slots_of(scheme)) {
    const auto name = slot.name + ".gain";
    if (!parameters_->find(name).defined()) continue;
    const auto variables =
        norm::variables_of(slot, scheme.shape, norm::Steps{.done = 0, .planned = planned_});
    const double offset = slot.norm->gain_form == norm::GainForm::one_plus_w ? 1 : 0;
    const double start = norm::stored_initial(*slot.norm, "gain", variables) + offset;
    if (start == 0) continue;
    const auto ratio = (parameters_->at(name).master.to(at::kDouble) + offset) / start;
    const auto dead = (ratio.abs() < kDead).sum().item<std::int64_t>();
    const double furthest = (ratio - 1).abs().max().item<double>();
    if (2 * dead >= ratio.numel()) {
      events.push_back(
          {.kind = "dead_gain",
           .layer = slot.block,
           .tensor = name,
           .observation = text(dead, " of ", ratio.numel(), " values of a gain are nearly 0"),
           .explanation = "later layers no longer receive the norm's output",
           .remedy = "a lower schedule.peak, or gains without decay (optimizer.decay_gains)"});
    } else if (furthest > kFar) {
      events.push_back({.kind = "far_gain",
                        .layer = slot.block,
                        .tensor = name,
                        .observation = text("a gain is ", with_digits(furthest, 3),
                                            " times its initial value away from it"),
                        .explanation = "the gain cancels the norm",
                        .remedy = "a lower schedule.peak, or decay of the gains"});
    }
  }
}

void HealthCheck::check_frozen(const std::vector<at::Tensor>& gradients,
                               std::vector<HealthEvent>& events) const {
  for (const auto& slot : norm::slots_of(model_->scheme())) {
    const auto name = slot.name + ".gain";
    if (!parameters_->find(name).defined()) continue;
    const auto& parameter = parameters_->at(name);
    if (parameter.slice_of(gradients[parameter.group]).any().item<bool>()) continue;
    events.push_back({.kind = "frozen_gain",
                      .layer = slot.block,
                      .tensor = name,
                      .observation = "a gain has no gradient at all",
                      .explanation = "no later layer uses the norm, or its gradient underflows",
                      .remedy = "a lower schedule.peak; check the scheme: evenkeel schemes show"});
  }
}

}  // namespace evenkeel::train
