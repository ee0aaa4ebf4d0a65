// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/build.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::nn {

namespace {

/// Makes layers from their description in the scheme and from their tensors, which are found by
/// name. Blocks are counted from i = 0, as in the names of tensors.
class Builder {
 public:
  Builder(const norm::Scheme& scheme, const ModelOptions& options, const Parameters& parameters,
          const norm::Steps& steps)
      : scheme_(scheme),
        options_(options),
        parameters_(parameters),
        steps_(steps),
        slots_(norm::slots_by_name(scheme)) {}

  /// The norm of that name ("blocks.0.attention.input_norm"), if the scheme has it.
  std::optional<NormLayer> norm_layer(const std::string& name) const {
    const auto found = slots_.find(name);
    if (found == slots_.end()) return std::nullopt;
    const auto& slot = found->second;
    const auto part = [&](const char* end) { return parameters_.find(name + end); };
    const bool renorm = slot.norm->kind == norm::Kind::batch_renorm;
    NormTensors tensors = {
        .gain = part(".gain"),
        .bias = part(".bias"),
        .alpha = part(".alpha"),
        .shift = part(".shift"),
        .beta = part(".beta"),
        .running_mean = parameters_.find_state(name + ".running_mean"),
        .running_scale = parameters_.find_state(name + (renorm ? ".running_std" : ".running_var"))};
    return NormLayer(*slot.norm, norm::variables_of(slot, scheme_.shape, steps_), slot.width,
                     slot.heads, std::move(tensors), options_.fused);
  }

  /// A fixed or trained number; the name is that of the trained one's tensor.
  Factor factor(const std::string& name, const norm::Number& number,
                const norm::Variables& variables) const {
    return Factor(number, variables, parameters_.find(name));
  }

  Block block(std::int64_t i) const {
    const auto& shape = scheme_.shape;
    const auto& [attention, feed_forward, damp] = scheme_.blocks.at(static_cast<std::size_t>(i));
    const auto v = shape.variables_of_block(i + 1, steps_);
    const auto prefix = text("blocks.", i, ".");
    Block b = {.l = i + 1,
               .is_parallel = scheme_.parallel,
               .shares_input = feed_forward.shares_input,
               .fused = options_.fused,
               .recompute = options_.recompute};
    b.attention_connection = sublayer_connection(prefix + "attention.", attention.add, v);
    b.feed_forward_connection = sublayer_connection(prefix + "feed_forward.", feed_forward.add, v);
    if (damp) {
      b.attention_connection.rule.damp = factor(prefix + "damp", *damp, v);
      b.feed_forward_connection.rule.damp = b.attention_connection.rule.damp;
    }
    for (const auto* const connection : {&b.attention_connection, &b.feed_forward_connection}) {
      b.taps_its_input = b.taps_its_input || connection->rule.takes(norm::Tap::block_input);
    }
    b.attention = this->attention(i, attention, v);
    if (shape.has_router(i)) {
      b.mixture = mixture(i);
      return b;
    }
    b.feed_forward = this->feed_forward(i, "feed_forward", shape.dense_ffn_multiple());
    if (feed_forward.up_gate_scale) {
      b.feed_forward.up_gate_scale =
          factor(prefix + "feed_forward.up_gate_scale", *feed_forward.up_gate_scale, v);
    }
    return b;
  }

 private:
  /// A stored matrix of block i ("attention.qkv") with the reparameterizations of its row blocks.
  Matrix matrix(std::int64_t i, const std::string& stored) const {
    const auto prefix = text("blocks.", i, ".");
    std::vector<Matrix::RowBlock> parts;
    for (const auto& logical : norm::logical_matrices(scheme_.shape, i)) {
      if (logical.stored != stored) continue;
      const auto name = prefix + logical.own_name;
      parts.push_back({.rows = logical.rows,
                       .row_gain = parameters_.find(name + ".row_gain"),
                       .gamma = parameters_.find(name + ".gamma"),
                       .left = parameters_.find_state(name + ".left"),
                       .right = parameters_.find_state(name + ".right")});
    }
    const bool plain = std::none_of(parts.begin(), parts.end(), [](const Matrix::RowBlock& part) {
      return part.row_gain.defined() || part.gamma.defined();
    });
    if (plain) parts.clear();
    const auto& parameter = parameters_.at(prefix + stored + ".weight");
    return Matrix(parameter.value, std::move(parts), parameter.gradient_buffer, options_.fused);
  }

  /// \param prefix  of the sublayer's tensors: "blocks.0.attention."
  SublayerConnection sublayer_connection(const std::string& prefix, const norm::Residual& add,
                                         const norm::Variables& variables) const {
    SublayerConnection connection = {.dual = norm_layer(prefix + "dual_norm"),
                                     .input = norm_layer(prefix + "input_norm"),
                                     .output = norm_layer(prefix + "output_norm")};
    connection.rule = {.skip = add.skip,
                       .skip_scale = factor(prefix + "skip_scale", add.skip_scale, variables),
                       .branch_scale = factor(prefix + "branch_scale", add.branch_scale, variables),
                       .update = add.update,
                       .angle_decay = StepNumber(add.angle_decay, variables),
                       .angle_scale = parameters_.find(prefix + "angle_scale"),
                       .angle_bias = parameters_.find(prefix + "angle_bias"),
                       .residual = norm_layer(prefix + "residual_norm"),
                       .damp = std::nullopt,
                       .fused = options_.fused};
    if (scheme_.dual) connection.write_y = StepNumber(scheme_.dual->write_y, variables);
    return connection;
  }

  Attention attention(std::int64_t i, const norm::Attention& rule,
                      const norm::Variables& variables) const {
    const auto& shape = scheme_.shape;
    const auto prefix = text("blocks.", i, ".attention.");
    Attention a;
    a.heads = shape.heads;
    a.kv_heads = shape.kv_heads;
    a.head_width = shape.head_width();
    a.qkv = matrix(i, "attention.qkv");
    a.output = matrix(i, "attention.output");
    a.q_norm = norm_layer(prefix + "q_norm");
    a.k_norm = norm_layer(prefix + "k_norm");
    a.v_norm = norm_layer(prefix + "v_norm");
    a.context_norm = norm_layer(prefix + "context_norm");
    a.q_norm_after_rotation = rule.q && rule.q->rope == norm::Rope::before;
    a.k_norm_after_rotation = rule.k && rule.k->rope == norm::Rope::before;
    a.scale = rule.score_scale ? factor(prefix + "score_scale", *rule.score_scale, variables)
                               : Factor(1 / std::sqrt(static_cast<double>(shape.head_width())));
    if (rule.softcap) a.softcap = StepNumber(*rule.softcap, variables);
    a.path = options_.attention;
    a.fused = options_.fused;
    a.recompute = options_.recompute;
    a.l = i + 1;
    return a;
  }

  /// \param where  "feed_forward", or what of it: where its matrices are
  FeedForward feed_forward(std::int64_t i, const std::string& where,
                           std::int64_t expert_count) const {
    return {.up_gate = matrix(i, where + ".up_gate"),
            .down = matrix(i, where + ".down"),
            .up_gate_scale = Factor(),
            .hidden_norm = norm_layer(text("blocks.", i, ".feed_forward.hidden_norm")),
            .expert_count = expert_count,
            .fused = options_.fused,
            .recompute = options_.recompute};
  }

  MixtureOfExperts mixture(std::int64_t i) const {
    const auto& experts = scheme_.shape.experts;
    const auto prefix = text("blocks.", i, ".feed_forward.");
    MixtureOfExperts mixture = {.router = parameters_.at(prefix + "router.weight").value,
                                .bias = parameters_.find_state(prefix + "router.bias"),
                                .up_gate = matrix(i, "feed_forward.experts.up_gate"),
                                .down = matrix(i, "feed_forward.experts.down"),
                                .shared = std::nullopt,
                                .hidden_norm = norm_layer(prefix + "hidden_norm"),
                                .top_k = experts.active,
                                .renormalize = experts.renormalize,
                                .fused = options_.fused};
    if (experts.shared > 0) {
      mixture.shared = feed_forward(i, "feed_forward.shared", experts.shared);
    }
    return mixture;
  }

  const norm::Scheme& scheme_;
  const ModelOptions& options_;
  const Parameters& parameters_;
  norm::Steps steps_;
  std::map<std::string, norm::Slot> slots_;
};

/// A block that runs twice would change the states of its norms and matrices twice.
void check_recompute(const norm::Scheme& scheme, const ModelOptions& options,
                     const Parameters& parameters) {
  if (options.recompute != Recompute::block) return;
  for (const auto& [name, state] : parameters.states()) {
    if (!is_moved_in_forward(name)) continue;
    throw Error(Exit::usage,
                text("model.recompute = \"block\" is not for scheme ", scheme.info.name,
                     ": each pass moves its ", name,
                     ", and a block that is computed twice would move it twice; take \"norms\""));
  }
}

}  // namespace

Layers build_layers(const norm::Scheme& scheme, const ModelOptions& options,
                    const Parameters& parameters, const norm::Steps& steps) {
  check_recompute(scheme, options, parameters);
  const Builder builder(scheme, options, parameters, steps);
  const auto variables = scheme.shape.variables(steps);
  Layers layers = {
      .embedding_norm = builder.norm_layer("embedding_norm"),
      .embedding_scale = builder.factor("embedding_scale", scheme.embedding_scale, variables),
      .blocks = {},
      .stream_x_norm = builder.norm_layer("stream_x_norm"),
      .stream_y_norm = builder.norm_layer("stream_y_norm"),
      .final_norm = builder.norm_layer("final_norm"),
      .logits_scale = builder.factor("logits_scale", scheme.logits_scale, variables)};
  if (scheme.dual) layers.y_init = StepNumber(scheme.dual->y_init, variables);
  if (scheme.logits_softcap) layers.logits_softcap = StepNumber(*scheme.logits_softcap, variables);
  for (std::int64_t i = 0; i < scheme.shape.layers; ++i) layers.blocks.push_back(builder.block(i));
  layers.names_step = set_step(layers, scheme.shape, steps);
  return layers;
}

bool set_step(Layers& layers, const norm::Shape& shape, const norm::Steps& steps) {
  const auto variables = shape.variables(steps);
  bool any = set_parts_step(variables, layers.embedding_norm, layers.embedding_scale,
                            layers.stream_x_norm, layers.stream_y_norm, layers.final_norm,
                            layers.logits_scale, layers.y_init, layers.logits_softcap);
  for (auto& block : layers.blocks) {
    any = set_step(block, shape.variables_of_block(block.l, steps)) || any;
  }
  return any;
}

void quantize(Layers& layers, const at::Tensor& head, std::int64_t vocabulary, Int8Use use) {
  for (auto& block : layers.blocks) {
    std::vector<Matrix*> matrices = {&block.attention.qkv, &block.attention.output};
    if (!block.mixture) {
      matrices.insert(matrices.end(), {&block.feed_forward.up_gate, &block.feed_forward.down});
    } else {
      auto& mixture = *block.mixture;
      matrices.insert(matrices.end(), {&mixture.up_gate, &mixture.down});
      if (auto& shared = mixture.shared) {
        matrices.insert(matrices.end(), {&shared->up_gate, &shared->down});
      }
    }
    for (auto* const each : matrices) each->quantize(use);
  }
  const auto int8 = ops::quantize_rows(head.narrow(0, 0, vocabulary));
  if (use == Int8Use::decoding) layers.int8_head = int8;
  if (use == Int8Use::evaluation) {
    layers.rounded_head = ops::dequantized(int8, head.scalar_type());
  }
}

}  // namespace evenkeel::nn
