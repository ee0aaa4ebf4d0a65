// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
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
#include "evenkeel/probe/gradients.h"

namespace evenkeel::train {

namespace {

/// Mean over the queries of ln(positions they attend to): the entropy of uniform weights.
double uniform_entropy(std::int64_t positions) {
  double sum = 0;
  for (std::int64_t i = 1; i <= positions; ++i) sum += std::log(static_cast<double>(i));
  return sum / static_cast<double>(positions);
}

/// The inputs of the block's attention without a norm.
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

/// What bounds attention scores and is not configured yet.
std::string score_remedies(const norm::Scheme& scheme, const norm::Attention& attention) {
  std::string out;
  if (!attention.q || !attention.k) out = "norms on q and k (as in hybrid_norm)";
  if (!attention.softcap) out = norm::joined(out, "a soft cap", ", ");
  if (!has_qk_clip(scheme)) out = norm::joined(out, "hook qk_clip", ", ");
  return norm::joined(out, "a lower schedule.peak", ", ");
}

/// The names of these schemes without that of the present one.
std::string other_schemes(const norm::Scheme& scheme, std::initializer_list<const char*> names) {
  std::string out;
  for (const std::string name : names) {
    if (name != scheme.info.name) out = norm::joined(out, name, " or ");
  }
  return out;
}

/// Whether every skip of the scheme passes a norm, as in Post-Norm.
bool normalizes_every_skip(const norm::Scheme& scheme) {
  return std::all_of(scheme.blocks.begin(), scheme.blocks.end(), [](const norm::Block& block) {
    return block.attention.residual && block.feed_forward.residual;
  });
}

/// Whether some feed-forward sublayer adds to what its norm gives, as in HybridNorm.
bool has_normalized_skip(const norm::Scheme& scheme) {
  return std::any_of(scheme.blocks.begin(), scheme.blocks.end(), [](const norm::Block& block) {
    const auto& skip = block.feed_forward.add.skip;
    return std::count(skip.begin(), skip.end(), norm::Tap::normed) > 0;
  });
}

HealthEvent vanishing_event(const norm::Scheme& scheme, double first_of_largest) {
  return {"vanishing",
          1,
          "",
          text("the gradient of block 1 is ", with_digits(first_of_largest, 3),
               " of the largest block's"),
          normalizes_every_skip(scheme)
              ? "every skip passes a norm, and gradients die towards the input"
              : "gradients die towards the input",
          text("scheme ", other_schemes(scheme, {"hybrid_norm_star", "deep_norm"}),
               ", or a lower schedule.peak")};
}

void check_routing(const probe::RoutingStats& routing, std::vector<HealthEvent>& events) {
  constexpr double kUnderloaded = 0.1;  // of the mean load
  constexpr double kMinChoices = 16;    // choices an expert: with fewer, chance leaves some without
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
      events.push_back({"routing", l, router,
                        text(underloaded, " of ", tokens.size(),
                             " experts got less than a tenth of the mean load"),
                        "the routing collapses: experts that no token goes to learn nothing",
                        "a larger model.experts.balance, model.experts.bias_rate, or a lower "
                        "schedule.peak"});
    } else if (routing.largest_logit[i] > kLarge) {
      events.push_back(
          {"router_logits", l, router,
           text("router logits up to ", with_digits(routing.largest_logit[i], 3)),
           "the choice of experts is final, and a router without doubt no longer learns",
           "a larger model.experts.router_z, or a lower schedule.peak"});
    }
  }
}

}  // namespace

std::vector<HealthEvent> HealthCheck::operator()(std::int64_t step, const data::Batch& batch,
                                                 const std::vector<at::Tensor>& gradients,
                                                 const probe::RoutingStats& routing) {
  const at::NoGradGuard no_grad;
  std::vector<HealthEvent> events;
  if (step > 1) check_routing(routing, events);  // fresh routers are random
  check_attention(batch, events);
  check_gains(events);
  if (step > 1) check_frozen(gradients, events);  // some gains start without one
  check_depth(gradients, events);
  return events;
}

void HealthCheck::check_attention(const data::Batch& batch, std::vector<HealthEvent>& events) {
  const auto row = data::batch_slice(batch, 0, 1);
  // Its start: the scores of a long sequence would take more memory than the training step.
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

/// \param cosine  mean over all pairs of positions after the last block
void HealthCheck::check_collapse(double cosine, std::vector<HealthEvent>& events) {
  constexpr double kCollapsed = 0.99;
  const bool collapsed = cosine > kCollapsed;  // once, early, it may pass
  if (!std::exchange(was_collapsed_, collapsed) || !collapsed) return;
  events.push_back({"collapse", model_->scheme().shape.layers, "residual stream",
                    text("the stream of all positions points the same way, mean cosine ",
                         with_digits(cosine, 4)),
                    "what the blocks add no longer depends on the text",
                    "a lower schedule.peak, or a longer schedule.warmup"});
}

/// \param scores, entropy  the largest score and the mean entropy of each block
/// \param uniform             entropy of uniform weights
void HealthCheck::check_attention_scores(const std::vector<double>& scores,
                                         const std::vector<double>& entropy, double uniform,
                                         std::vector<HealthEvent>& events) {
  constexpr double kLarge = 100;  // softmax is one-hot long before
  constexpr double kGrown = 4;
  constexpr double kPeaked = 0.02;  // of uniform weights
  if (initial_scores_.empty()) initial_scores_ = scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto l = static_cast<std::int64_t>(i) + 1;
    const auto& attention = model_->scheme().blocks[i].attention;
    const auto unbound = unnormalized_inputs(attention, /*values_too=*/false);
    const auto unnormalized = unnormalized_inputs(attention, /*values_too=*/true);
    if (scores[i] > kLarge && scores[i] > kGrown * std::abs(initial_scores_[i])) {
      events.push_back(
          {"logits", l, text("blocks.", i, ".attention.qkv.weight"),
           text("attention scores up to ", with_digits(scores[i], 3), ", ",
                with_digits(initial_scores_[i], 3), " at the start"),
           unbound.empty() ? "the gains of q and k grow" : text("no norm bounds ", unbound),
           score_remedies(model_->scheme(), attention)});
    } else if (entropy[i] < kPeaked * uniform) {
      events.push_back({"entropy", l, text("blocks.", i, ".attention.qkv.weight"),
                        text("attention entropy ", with_digits(entropy[i], 3), " of ",
                             with_digits(uniform, 3), " nats"),
                        unnormalized.empty()
                            ? "attention has collapsed"
                            : text("attention has collapsed; no norm bounds ", unnormalized),
                        "norms on q, k and v (scheme hybrid_norm), or a lower schedule.peak"});
    }
  }
}

void HealthCheck::check_gains(std::vector<HealthEvent>& events) const {
  constexpr double kDead = 1e-3, kFar = 10;  // of the initial value
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
      events.push_back({"dead_gain", slot.block, name,
                        text(dead, " of ", ratio.numel(), " values of a gain are nearly 0"),
                        "what the norm gives is lost to the layers behind it",
                        "a lower schedule.peak, or gains without decay (optimizer.decay_gains)"});
    } else if (furthest > kFar) {
      events.push_back(
          {"far_gain", slot.block, name,
           text("a gain is ", with_digits(furthest, 3), " times its start away from it"),
           "the norm undoes itself", "a lower schedule.peak, or decay of the gains"});
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
    events.push_back({"frozen_gain", slot.block, name, "a gain has no gradient at all",
                      "nothing behind the norm listens to it, or its numbers are too small",
                      "a lower schedule.peak, and a look at the scheme: evenkeel schemes show"});
  }
}

void HealthCheck::check_depth(const std::vector<at::Tensor>& gradients,
                              std::vector<HealthEvent>& events) const {
  constexpr double kFar = 1e4, kImbalanced = 100;
  std::vector<double> blocks;
  double model = 0, attention = 0, feed_forward = 0;  // squares, but for the model
  for (const auto& profile : probe::gradient_norms(*parameters_, gradients, model_->scheme())) {
    double squares = 0;
    for (const auto value : profile.values) squares += value * value;
    const auto& part = profile.part;
    if (part == "block") blocks = profile.values;
    if (part == "model") model = profile.values.front();
    if (part == "q" || part == "k" || part == "v" || part == "output") attention += squares;
    if (part == "up" || part == "gate" || part == "down") feed_forward += squares;
  }
  const auto [least, most] = std::minmax_element(blocks.begin(), blocks.end());
  if (!std::isfinite(*most) || !(model > 0)) return;
  if (*most * kFar < model) {
    events.push_back({"dead_blocks", 0, "",
                      text("the gradient of the largest block is ", with_digits(*most / model, 3),
                           " of the model's"),
                      "only embedding and head learn",
                      "a lower schedule.peak, a longer schedule.warmup, or model.init"});
  } else if (blocks.front() * kFar < *most) {
    events.push_back(vanishing_event(model_->scheme(), blocks.front() / *most));
  } else if (*least > 0 && blocks.front() > kFar * *least) {
    events.push_back(
        {"exploding_depth", 1, "",
         text("the gradient of block 1 is ", with_digits(blocks.front() / *least, 3),
              " times the smallest block's"),
         "the stream grows with depth, and late blocks no longer count",
         text("scheme ",
              other_schemes(model_->scheme(), {"hybrid_norm", "layer_norm_scaling", "peri_ln"}),
              ", or a lower schedule.peak")});
  }
  if (attention > 0 && feed_forward > kImbalanced * kImbalanced * attention) {
    events.push_back(
        {"feed_forward", 0, "",
         text("the gradients of the feed-forward halves are ",
              with_digits(std::sqrt(feed_forward / attention), 3), " times those of attention"),
         has_normalized_skip(model_->scheme()) ? "the branch is too large against a normed skip"
                                               : "attention hardly learns beside them",
         "a lower schedule.peak, and a look at feed_forward.skip of the scheme"});
  }
}

}  // namespace evenkeel::train
