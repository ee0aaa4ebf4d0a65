// SPDX-License-Identifier: Apache-2.0
// How a model is put together out of a scheme and its parameters.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/norm/logical_matrices.h"

namespace evenkeel::nn {

Model::Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
             const norm::Steps& steps)
    : scheme_(std::move(scheme)), options_(options), parameters_(&parameters) {
  for (const auto& [name, state] : parameters.states()) {
    if (options_.recompute != Recompute::block || name.ends_with(".router.bias"))
      continue;  // no pass moves that one
    throw Error(Exit::usage,
                text("model.recompute = \"block\" is not for scheme ", scheme_.info.name,
                     ": each pass moves its ", name,
                     ", and a block that is computed twice would move it twice; take \"norms\""));
  }
  at_step(steps);
}

void Model::at_step(const norm::Steps& steps) {
  steps_ = steps;
  const auto slots = norm::slots_by_name(scheme_);
  const auto variables = scheme_.shape.variables(steps_);
  blocks_.clear();
  for (std::int64_t i = 0; i < scheme_.shape.layers; ++i) blocks_.push_back(block(slots, i));
  embedding_norm_ = norm_layer(slots, "embedding_norm");
  stream_x_norm_ = norm_layer(slots, "stream_x_norm");
  stream_y_norm_ = norm_layer(slots, "stream_y_norm");
  final_norm_ = norm_layer(slots, "final_norm");
  embedding_scale_ = factor("embedding_scale", scheme_.embedding_scale, variables);
  logits_scale_ = factor("logits_scale", scheme_.logits_scale, variables);
  if (scheme_.dual) y_init_ = scheme_.dual->y_init.value(variables);
  if (scheme_.logits_softcap) logits_softcap_ = scheme_.logits_softcap->value(variables);
}

std::optional<NormLayer> Model::norm_layer(const Slots& slots, const std::string& name) const {
  const auto found = slots.find(name);
  if (found == slots.end()) return std::nullopt;
  const auto& slot = found->second;
  const auto part = [&](const char* end) { return parameters_->find(name + end); };
  const bool renorm = slot.norm->kind == norm::Kind::batch_renorm;
  NormTensors tensors = {
      .gain = part(".gain"),
      .bias = part(".bias"),
      .alpha = part(".alpha"),
      .shift = part(".shift"),
      .beta = part(".beta"),
      .running_mean = parameters_->find_state(name + ".running_mean"),
      .running_scale = parameters_->find_state(name + (renorm ? ".running_std" : ".running_var"))};
  return NormLayer(*slot.norm, norm::variables_of(slot, scheme_.shape, steps_), slot.width,
                   slot.heads, std::move(tensors), options_.fused);
}

Factor Model::factor(const std::string& name, const norm::Number& number,
                     const norm::Variables& variables) const {
  return Factor(number, variables, parameters_->find(name));
}

Matrix Model::matrix(std::int64_t i, const std::string& stored) const {
  const auto prefix = text("blocks.", i, ".");
  std::vector<Matrix::RowBlock> parts;
  for (const auto& logical : norm::logical_matrices(scheme_.shape, i)) {
    if (logical.stored != stored) continue;
    const auto name = prefix + logical.own_name;
    parts.push_back({.first = logical.first,
                     .rows = logical.rows,
                     .row_gain = parameters_->find(name + ".row_gain"),
                     .gamma = parameters_->find(name + ".gamma"),
                     .left = parameters_->find_state(name + ".left"),
                     .right = parameters_->find_state(name + ".right")});
  }
  const bool plain = std::none_of(parts.begin(), parts.end(), [](const Matrix::RowBlock& part) {
    return part.row_gain.defined() || part.gamma.defined();
  });
  if (plain) parts.clear();
  const auto& parameter = parameters_->at(prefix + stored + ".weight");
  return Matrix(parameter.value, std::move(parts), parameter.gradient_buffer, options_.fused);
}

Model::SublayerConnection Model::sublayer_connection(const Slots& slots, const std::string& prefix,
                                                     const norm::Residual& add,
                                                     const norm::Variables& variables) const {
  SublayerConnection connection;
  connection.dual = norm_layer(slots, prefix + "dual_norm");
  connection.input = norm_layer(slots, prefix + "input_norm");
  connection.output = norm_layer(slots, prefix + "output_norm");
  connection.rule = {.skip = add.skip,
                     .skip_scale = factor(prefix + "skip_scale", add.skip_scale, variables),
                     .branch_scale = factor(prefix + "branch_scale", add.branch_scale, variables),
                     .update = add.update,
                     .angle_decay = add.angle_decay.value(variables),
                     .angle_scale = parameters_->find(prefix + "angle_scale"),
                     .angle_bias = parameters_->find(prefix + "angle_bias"),
                     .residual = norm_layer(slots, prefix + "residual_norm"),
                     .damp = std::nullopt,
                     .fused = options_.fused};
  if (scheme_.dual) connection.write_y = scheme_.dual->write_y.value(variables);
  return connection;
}

/// \param where  "feed_forward", or what of it: where its matrices are
FeedForward Model::feed_forward(const Slots& slots, std::int64_t i, const std::string& where,
                                std::int64_t expert_count) const {
  return {.up_gate = matrix(i, where + ".up_gate"),
          .down = matrix(i, where + ".down"),
          .up_gate_scale = Factor(),
          .hidden_norm = norm_layer(slots, text("blocks.", i, ".feed_forward.hidden_norm")),
          .expert_count = expert_count,
          .fused = options_.fused,
          .recompute = options_.recompute};
}

MixtureOfExperts Model::mixture(const Slots& slots, std::int64_t i) const {
  const auto& experts = scheme_.shape.experts;
  const auto prefix = text("blocks.", i, ".feed_forward.");
  MixtureOfExperts mixture = {.router = parameters_->at(prefix + "router.weight").value,
                              .bias = parameters_->find_state(prefix + "router.bias"),
                              .up_gate = matrix(i, "feed_forward.experts.up_gate"),
                              .down = matrix(i, "feed_forward.experts.down"),
                              .shared = std::nullopt,
                              .hidden_norm = norm_layer(slots, prefix + "hidden_norm"),
                              .top_k = experts.active,
                              .renormalize = experts.renormalize,
                              .fused = options_.fused};
  if (experts.shared > 0) {
    mixture.shared = feed_forward(slots, i, "feed_forward.shared", experts.shared);
  }
  return mixture;
}

Model::Block Model::block(const Slots& slots, std::int64_t i) const {
  const auto& shape = scheme_.shape;
  const auto& [attention, feed_forward, damp] = scheme_.blocks.at(static_cast<std::size_t>(i));
  const auto v = shape.variables_of_block(i + 1, steps_);
  const auto prefix = text("blocks.", i, ".");
  const auto a = prefix + "attention.";
  const auto f = prefix + "feed_forward.";

  Block b;
  b.attention_connection = sublayer_connection(slots, a, attention.add, v);
  b.feed_forward_connection = sublayer_connection(slots, f, feed_forward.add, v);
  if (damp) {
    b.attention_connection.rule.damp = factor(prefix + "damp", *damp, v);
    b.feed_forward_connection.rule.damp = b.attention_connection.rule.damp;
  }
  b.shares_input = feed_forward.shares_input;
  for (const auto* const connection : {&b.attention_connection, &b.feed_forward_connection}) {
    b.taps_its_input = b.taps_its_input || connection->rule.takes(norm::Tap::block_input);
  }

  auto& at = b.attention;
  at.heads = shape.heads;
  at.kv_heads = shape.kv_heads;
  at.head_width = shape.head_width();
  at.qkv = matrix(i, "attention.qkv");
  at.output = matrix(i, "attention.output");
  at.q_norm = norm_layer(slots, a + "q_norm");
  at.k_norm = norm_layer(slots, a + "k_norm");
  at.v_norm = norm_layer(slots, a + "v_norm");
  at.context_norm = norm_layer(slots, a + "context_norm");
  at.q_norm_after_rotation = attention.q && attention.q->rope == norm::Rope::before;
  at.k_norm_after_rotation = attention.k && attention.k->rope == norm::Rope::before;
  at.scale = attention.score_scale ? factor(a + "score_scale", *attention.score_scale, v)
                                   : Factor(1 / std::sqrt(static_cast<double>(shape.head_width())));
  if (attention.softcap) at.softcap = attention.softcap->value(v);
  at.path = options_.attention;
  at.fused = options_.fused;
  at.recompute = options_.recompute;
  at.l = i + 1;

  if (shape.has_router(i)) {
    b.mixture = mixture(slots, i);
    return b;
  }
  b.feed_forward = this->feed_forward(slots, i, "feed_forward", shape.dense_experts());
  if (feed_forward.up_gate_scale) {
    b.feed_forward.up_gate_scale = factor(f + "up_gate_scale", *feed_forward.up_gate_scale, v);
  }
  return b;
}

}  // namespace evenkeel::nn
