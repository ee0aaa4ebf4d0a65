// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/cross_entropy.h"
#include "evenkeel/nn/embedding.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::nn {

namespace {

using norm::Tap;

/// A number of a rule that is not learned.
double fixed(const norm::Number& number, const norm::Variables& variables) {
  EK_ASSERT(std::holds_alternative<norm::Expression>(number));
  return std::get<norm::Expression>(number).value(variables);
}

ResidualRule rule_of(const norm::Residual& residual, const norm::Variables& variables) {
  return {residual.skip, fixed(residual.skip_scale, variables),
          fixed(residual.branch_scale, variables)};
}

at::Tensor scaled(const at::Tensor& x, double factor) {
  return factor == 1 ? x : x * factor;
}

/// One sublayer, the only place that gives a scheme its meaning:
///
///   read = input ? norm(stream) : stream
///   out  = branch(read);  out = output ? norm(out) : out
///   s    = skip_scale * (sum of taps: stream | normed (= read) | block_input) + branch_scale * out
///   s    = residual ? norm(s) : s
template <typename Branch>
Stream half(Stream& stream, Stream& block_input, const std::optional<NormLayer>& input,
            const std::optional<NormLayer>& output, const std::optional<NormLayer>& residual,
            const ResidualRule& rule, const Branch& branch) {
  const auto read = input ? stream.normed(*input) : stream.value();
  auto out = branch(read);
  if (output) out = (*output)(out);

  at::Tensor skip;
  for (const auto tap : rule.skip) {
    const auto& tapped = tap == Tap::normed   ? read
                         : tap == Tap::stream ? stream.value()
                                              : block_input.value();
    skip = skip.defined() ? skip + tapped : tapped;
  }
  Stream sum(scaled(skip, rule.skip_scale), scaled(out, rule.branch_scale));
  return residual ? Stream(sum.normed(*residual)) : sum;
}

}  // namespace

Model::Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
             const norm::Steps& steps)
    : scheme_(std::move(scheme)), options_(options), parameters_(&parameters) {
  if (const auto missing = norm::not_run_yet(scheme_); !missing.empty()) {
    std::string list;
    for (const auto& each : missing) list += (list.empty() ? "" : ", ") + each;
    throw Error(Exit::usage, text("scheme ", scheme_.words.name, ": this version cannot run ", list,
                                  "; `evenkeel schemes` lists those it runs"));
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
  final_norm_ = layer(slots, "final_norm");
  embedding_scale_ = fixed(scheme_.embedding_scale, variables);
  logits_scale_ = fixed(scheme_.logits_scale, variables);
  if (scheme_.logits_softcap) logits_softcap_ = scheme_.logits_softcap->value(variables);
}

at::Tensor Model::hidden(const at::Tensor& ids, ModelCache* cache) const {
  const auto positions = ids.size(1);
  const auto first = cache != nullptr ? cache->front().length : 0;
  const auto dk = scheme_.shape.head_width();
  const auto dtype = compute_dtype(parameters_->precision());
  const auto needed = std::max(first + positions, scheme_.shape.context);
  if (!rotary_.cosine.defined() || rotary_.cosine.size(0) < needed) {
    rotary_ = Rotary::of(0, needed, dk, options_.rope_theta, dtype);
  }
  const Rotary rotary = {rotary_.cosine.narrow(0, first, positions),
                         rotary_.sine.narrow(0, first, positions)};

  auto x = nn::embedding(parameters_->at("embedding.weight").value, ids);
  if (embedding_norm_) x = (*embedding_norm_)(x);
  Stream stream(scaled(x, embedding_scale_));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto& b = blocks_[i];
    auto* const kept = cache != nullptr ? &(*cache)[i] : nullptr;
    auto block_input = stream;
    stream = half(stream, block_input, b.attention_input, b.attention_output, b.attention_residual,
                  b.attention_rule,
                  [&](const at::Tensor& read) { return b.attention(read, rotary, kept); });
    stream = half(stream, block_input, b.feed_forward_input, b.feed_forward_output,
                  b.feed_forward_residual, b.feed_forward_rule,
                  [&](const at::Tensor& read) { return b.feed_forward(read); });
  }
  return final_norm_ ? stream.normed(*final_norm_) : stream.value();
}

at::Tensor Model::logits(const at::Tensor& x) const {
  const auto& name = options_.tied ? "embedding.weight" : "head.weight";
  const auto& weight = parameters_->at(name).value;
  const bool padded = weight.size(0) != options_.vocabulary;
  const auto rows = padded ? weight.narrow(0, 0, options_.vocabulary) : weight;
  auto y = at::linear(x, rows).to(master_dtype(parameters_->precision()));
  y = scaled(y, logits_scale_);
  return logits_softcap_ ? at::tanh(y / *logits_softcap_) * *logits_softcap_ : y;
}

at::Tensor Model::loss_sum(const at::Tensor& ids, const at::Tensor& targets) const {
  const auto x = hidden(ids).flatten(0, 1);
  return cross_entropy_sum(logits(x), targets.flatten());
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
  return NormLayer(*slot.norm, norm::variables_of(slot, scheme_.shape, steps_), slot.width,
                   slot.heads, parameters_->find(name + ".gain"), parameters_->find(name + ".bias"),
                   options_.fused);
}

Model::Block Model::block(const Slots& slots, std::int64_t i) const {
  const auto& shape = scheme_.shape;
  const auto& [attention, feed_forward, damp] = scheme_.blocks.at(static_cast<std::size_t>(i));
  const auto v = shape.variables_of_block(i + 1, steps_);
  const auto a = text("blocks.", i, ".attention.");
  const auto f = text("blocks.", i, ".feed_forward.");

  Block b;
  b.attention_input = layer(slots, a + "input_norm");
  b.attention_output = layer(slots, a + "output_norm");
  b.attention_residual = layer(slots, a + "residual_norm");
  b.attention_rule = rule_of(attention.add, v);
  b.feed_forward_input = layer(slots, f + "input_norm");
  b.feed_forward_output = layer(slots, f + "output_norm");
  b.feed_forward_residual = layer(slots, f + "residual_norm");
  b.feed_forward_rule = rule_of(feed_forward.add, v);

  auto& at = b.attention;
  at.heads = shape.heads;
  at.kv_heads = shape.kv_heads;
  at.head_width = shape.head_width();
  at.qkv = parameters_->at(a + "qkv.weight").value;
  at.output = parameters_->at(a + "output.weight").value;
  at.q_norm = layer(slots, a + "q_norm");
  at.k_norm = layer(slots, a + "k_norm");
  at.v_norm = layer(slots, a + "v_norm");
  at.context_norm = layer(slots, a + "context_norm");
  at.q_norm_after_rotation = attention.q && attention.q->rope == norm::Rope::before;
  at.k_norm_after_rotation = attention.k && attention.k->rope == norm::Rope::before;
  at.scale = attention.score_scale ? fixed(*attention.score_scale, v)
                                   : 1 / std::sqrt(static_cast<double>(shape.head_width()));
  if (attention.softcap) at.softcap = attention.softcap->value(v);
  at.path = options_.attention;

  b.feed_forward.up_gate = parameters_->at(f + "up_gate.weight").value;
  b.feed_forward.down = parameters_->at(f + "down.weight").value;
  if (feed_forward.up_gate_scale) {
    b.feed_forward.up_gate_scale = fixed(*feed_forward.up_gate_scale, v);
  }
  b.feed_forward.hidden_norm = layer(slots, f + "hidden_norm");
  return b;
}

}  // namespace evenkeel::nn
