// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/embedding.h"
#include "evenkeel/nn/recompute.h"
#include "evenkeel/norm/logical.h"
#include "evenkeel/ops/linear_cross_entropy.h"
#include "evenkeel/ops/reference.h"

namespace evenkeel::nn {

Model::Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
             const norm::Steps& steps)
    : scheme_(std::move(scheme)), options_(options), parameters_(&parameters) {
  if (options_.recompute && !parameters.states().empty()) {
    throw Error(Exit::usage,
                text("model.recompute = \"block\" is not for scheme ", scheme_.words.name,
                     ": each pass moves its ", parameters.states().begin()->first,
                     ", and a block that is computed twice would move it twice; take \"none\""));
  }
  at_step(steps);
}

void Model::at_step(const norm::Steps& steps) {
  steps_ = steps;
  const auto slots = norm::slots_by_name(scheme_);
  const auto variables = scheme_.shape.variables(steps_);
  blocks_.clear();
  for (std::int64_t i = 0; i < scheme_.shape.layers; ++i) blocks_.push_back(block(slots, i));
  embedding_norm_ = layer(slots, "embedding_norm");
  stream_x_norm_ = layer(slots, "stream_x_norm");
  stream_y_norm_ = layer(slots, "stream_y_norm");
  final_norm_ = layer(slots, "final_norm");
  embedding_scale_ = factor("embedding_scale", scheme_.embedding_scale, variables);
  logits_scale_ = factor("logits_scale", scheme_.logits_scale, variables);
  if (scheme_.dual) y_init_ = scheme_.dual->y_init.value(variables);
  if (scheme_.logits_softcap) logits_softcap_ = scheme_.logits_softcap->value(variables);
}

/// One sublayer:
///
///   base = stream, or stream + norm(y)
///   read = input ? norm(base) : base
///   out  = branch(read);  out = output ? norm(out) : out
///   y    = y + write_y * out
///   the new stream: added()
template <typename Branch>
void Model::run_half(State& state, const HalfBlock& half, std::int64_t l, Half which,
                     const Pass& pass, const Branch& branch) const {
  at::Tensor read;
  if (half.dual) {
    const auto base = state.stream.value() + (*half.dual)(state.second, pass.mode);
    read = half.input ? (*half.input)(base, pass.mode) : base;
  } else {
    read = half.input ? state.stream.normed(*half.input, pass.mode) : state.stream.value();
  }
  auto out = branch(read);
  if (half.output) out = (*half.output)(out, pass.mode);
  const auto& before = state.stream.value();
  if (pass.observer != nullptr && pass.observer->branch) {
    pass.observer->branch(l, which, before, out);
  }
  if (state.second.defined()) state.second = state.second + out * half.write_y;
  state.stream = added(half.rule, {before, read, state.block_input}, out, pass.mode);
}

/// Both halves at once, from the same stream; one sum, by the rules of attention.
void Model::run_parallel(State& state, const Block& block, std::int64_t l, const Pass& pass,
                         const Rotary& rotary, KeyValueCache* cache) const {
  const auto& first = block.around_attention;
  const auto& second = block.around_feed_forward;
  const auto mode = pass.mode;
  const auto read = first.input ? state.stream.normed(*first.input, mode) : state.stream.value();
  const auto before = state.stream.value();
  const auto also_read = block.shares_input ? read
                         : second.input     ? (*second.input)(before, mode)
                                            : before;
  auto attention = block.attention(read, rotary, mode, cache, pass.observer);
  if (first.output) attention = (*first.output)(attention, mode);
  auto feed_forward = block.feed_forward(also_read, mode);
  if (second.output) feed_forward = (*second.output)(feed_forward, mode);
  if (pass.observer != nullptr && pass.observer->branch) {
    pass.observer->branch(l, Half::attention, before, attention);
    pass.observer->branch(l, Half::feed_forward, before, feed_forward);
  }
  state.stream = added(first.rule, {before, read, before}, attention, mode,
                       second.rule.branch_scale(feed_forward));
}

/// Of the `positions` positions from `first` on.
Rotary Model::rotary(std::int64_t first, std::int64_t positions) const {
  const auto needed = std::max(first + positions, scheme_.shape.context);
  if (!rotary_.turn.defined() || rotary_.turn.size(0) < needed) {
    rotary_ = Rotary::of(0, needed, scheme_.shape.head_width(), options_.rope_theta,
                         compute_dtype(parameters_->precision()));
  }
  return rotary_.narrow(first, positions);
}

/// What enters the first block.
Model::State Model::embedded(const at::Tensor& ids, Mode mode) const {
  auto x = nn::embedding(parameters_->at("embedding.weight").value, ids);
  if (embedding_norm_) x = (*embedding_norm_)(x, mode);
  x = embedding_scale_(x);
  return {Stream(x), scheme_.dual ? x * y_init_ : at::Tensor(), {}};
}

void Model::run_block(State& state, const Block& block, std::int64_t l, const Pass& pass,
                      const Rotary& rotary) const {
  auto* const cache =
      pass.cache != nullptr ? &pass.cache->at(static_cast<std::size_t>(l) - 1) : nullptr;
  if (scheme_.parallel) return run_parallel(state, block, l, pass, rotary, cache);
  if (block.taps_its_input) state.block_input = state.stream.value();
  run_half(state, block.around_attention, l, Half::attention, pass, [&](const at::Tensor& read) {
    return block.attention(read, rotary, pass.mode, cache, pass.observer);
  });
  run_half(state, block.around_feed_forward, l, Half::feed_forward, pass,
           [&](const at::Tensor& read) { return block.feed_forward(read, pass.mode); });
}

/// run_block(), of which only the streams that enter it are kept for the backward pass.
void Model::run_again_later(State& state, const Block& block, std::int64_t l, const Pass& pass,
                            const Rotary& rotary) const {
  const bool has_second = state.second.defined();
  const Part part = [this, &block, l, pass, rotary, has_second](const Tensors& inputs, bool again) {
    auto own = pass;
    if (again) own.observer = nullptr;  // it has seen this
    auto pieces = inputs;
    State inside{Stream(at::Tensor()), {}, {}};
    if (has_second) {
      inside.second = pieces.back();
      pieces.pop_back();
    }
    inside.stream = Stream::of(pieces);
    run_block(inside, block, l, own, rotary);
    auto outputs = inside.stream.pieces();
    if (has_second) outputs.push_back(inside.second);
    return outputs;
  };
  auto inputs = state.stream.pieces();
  if (has_second) inputs.push_back(state.second);
  auto outputs = recomputed(part, inputs);
  if (has_second) {
    state.second = outputs.back();
    outputs.pop_back();
  }
  state.stream = Stream::of(outputs);
}

at::Tensor Model::hidden(const at::Tensor& ids, const Pass& pass) const {
  const auto first = pass.cache != nullptr ? pass.cache->front().length : 0;
  const auto turns = rotary(first, ids.size(1));
  const bool is_watched = pass.observer != nullptr && pass.observer->stream;
  // Who looks at streams may want their gradients, which a block that runs again does not have.
  const bool is_looked_into =
      pass.observer != nullptr && (pass.observer->stream || pass.observer->branch);
  const bool again_later = options_.recompute && pass.mode == Mode::training && !is_looked_into &&
                           at::GradMode::is_enabled();
  auto state = embedded(ids, pass.mode);
  if (is_watched) pass.observer->stream(0, state.stream.value());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto l = static_cast<std::int64_t>(i) + 1;
    if (l == pass.left_out) continue;
    if (again_later) {
      run_again_later(state, blocks_[i], l, pass, turns);
    } else {
      run_block(state, blocks_[i], l, pass, turns);
    }
    if (is_watched) pass.observer->stream(l, state.stream.value());
  }
  if (state.second.defined()) {
    auto sum = state.stream.value();
    if (stream_x_norm_) sum = (*stream_x_norm_)(sum, pass.mode);
    state.stream = Stream(sum, (*stream_y_norm_)(state.second, pass.mode));
  }
  return final_norm_ ? state.stream.normed(*final_norm_, pass.mode) : state.stream.value();
}

const at::Tensor& Model::head() const {
  return parameters_->at(options_.tied ? "embedding.weight" : "head.weight").value;
}

at::Tensor Model::logits(const at::Tensor& x) const {
  auto y = at::linear(x, head().narrow(0, 0, options_.vocabulary))
               .to(master_dtype(parameters_->precision()));
  y = logits_scale_(y);
  return logits_softcap_ ? at::tanh(y / *logits_softcap_) * *logits_softcap_ : y;
}

at::Tensor Model::loss_sum(const at::Tensor& ids, const at::Tensor& targets,
                           const Pass& pass) const {
  const auto x = hidden(ids, pass).flatten(0, 1);
  if (!options_.fused) return ops::reference::cross_entropy_sum(logits(x), targets.flatten());
  ops::LogitsRule rule{.vocabulary = options_.vocabulary, .softcap = logits_softcap_};
  if (!logits_scale_.is_learned()) {
    rule.scale = logits_scale_.fixed();
    return ops::linear_cross_entropy(x, head(), targets.flatten(), rule);
  }
  // One scale, or one a word of the vocabulary: the head's rows times it.
  const auto scored = head().narrow(0, 0, options_.vocabulary);
  const auto scaled = (scored * logits_scale_.value().unsqueeze(-1)).to(scored.scalar_type());
  return ops::linear_cross_entropy(x, scaled, targets.flatten(), rule);
}

ModelCache Model::empty_cache(std::int64_t batch, std::int64_t capacity) const {
  const auto& shape = scheme_.shape;
  const auto dtype = compute_dtype(parameters_->precision());
  ModelCache cache(blocks_.size());
  for (auto& each : cache) {
    each.keys = at::empty({batch, shape.kv_heads, capacity, shape.head_width()}, dtype);
    each.values = at::empty_like(each.keys);
  }
  return cache;
}

std::optional<NormLayer> Model::layer(const Slots& slots, const std::string& name) const {
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
  std::vector<Matrix::Part> parts;
  for (const auto& logical : norm::logical_matrices(scheme_.shape)) {
    if (logical.stored != stored) continue;
    const auto name = prefix + logical.name;
    parts.push_back({.first = logical.first,
                     .rows = logical.rows,
                     .row_gain = parameters_->find(name + ".row_gain"),
                     .gamma = parameters_->find(name + ".gamma"),
                     .left = parameters_->find_state(name + ".left"),
                     .right = parameters_->find_state(name + ".right")});
  }
  const bool plain = std::none_of(parts.begin(), parts.end(), [](const Matrix::Part& part) {
    return part.row_gain.defined() || part.gamma.defined();
  });
  if (plain) parts.clear();
  return Matrix(parameters_->at(prefix + stored + ".weight").value, std::move(parts));
}

Model::HalfBlock Model::half_block(const Slots& slots, const std::string& prefix,
                                   const norm::Residual& add,
                                   const norm::Variables& variables) const {
  HalfBlock half;
  half.dual = layer(slots, prefix + "dual_norm");
  half.input = layer(slots, prefix + "input_norm");
  half.output = layer(slots, prefix + "output_norm");
  half.rule = {.skip = add.skip,
               .skip_scale = factor(prefix + "skip_scale", add.skip_scale, variables),
               .branch_scale = factor(prefix + "branch_scale", add.branch_scale, variables),
               .update = add.update,
               .angle_decay = add.angle_decay.value(variables),
               .angle_scale = parameters_->find(prefix + "angle_scale"),
               .angle_bias = parameters_->find(prefix + "angle_bias"),
               .residual = layer(slots, prefix + "residual_norm"),
               .damp = std::nullopt};
  if (scheme_.dual) half.write_y = scheme_.dual->write_y.value(variables);
  return half;
}

Model::Block Model::block(const Slots& slots, std::int64_t i) const {
  const auto& shape = scheme_.shape;
  const auto& [attention, feed_forward, damp] = scheme_.blocks.at(static_cast<std::size_t>(i));
  const auto v = shape.variables_of_block(i + 1, steps_);
  const auto prefix = text("blocks.", i, ".");
  const auto a = prefix + "attention.";
  const auto f = prefix + "feed_forward.";

  Block b;
  b.around_attention = half_block(slots, a, attention.add, v);
  b.around_feed_forward = half_block(slots, f, feed_forward.add, v);
  if (damp) {
    b.around_attention.rule.damp = factor(prefix + "damp", *damp, v);
    b.around_feed_forward.rule.damp = b.around_attention.rule.damp;
  }
  b.shares_input = feed_forward.shares_input;
  for (const auto* const add : {&attention.add, &feed_forward.add}) {
    b.taps_its_input = b.taps_its_input ||
                       std::count(add->skip.begin(), add->skip.end(), norm::Tap::block_input) > 0;
  }

  auto& at = b.attention;
  at.heads = shape.heads;
  at.kv_heads = shape.kv_heads;
  at.head_width = shape.head_width();
  at.qkv = matrix(i, "attention.qkv");
  at.output = matrix(i, "attention.output");
  at.q_norm = layer(slots, a + "q_norm");
  at.k_norm = layer(slots, a + "k_norm");
  at.v_norm = layer(slots, a + "v_norm");
  at.context_norm = layer(slots, a + "context_norm");
  at.q_norm_after_rotation = attention.q && attention.q->rope == norm::Rope::before;
  at.k_norm_after_rotation = attention.k && attention.k->rope == norm::Rope::before;
  at.scale = attention.score_scale ? factor(a + "score_scale", *attention.score_scale, v)
                                   : Factor(1 / std::sqrt(static_cast<double>(shape.head_width())));
  if (attention.softcap) at.softcap = attention.softcap->value(v);
  at.path = options_.attention;
  at.fused = options_.fused;
  at.l = i + 1;

  b.feed_forward.fused = options_.fused;
  b.feed_forward.up_gate = matrix(i, "feed_forward.up_gate");
  b.feed_forward.down = matrix(i, "feed_forward.down");
  if (feed_forward.up_gate_scale) {
    b.feed_forward.up_gate_scale = factor(f + "up_gate_scale", *feed_forward.up_gate_scale, v);
  }
  b.feed_forward.hidden_norm = layer(slots, f + "hidden_norm");
  return b;
}

}  // namespace evenkeel::nn
