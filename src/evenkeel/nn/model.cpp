// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "evenkeel/nn/activation_checkpoint.h"
#include "evenkeel/nn/embedding.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/linear_cross_entropy.h"

namespace evenkeel::nn {

/// The output of `norm` for x, as the input of a linear layer.
/// \param norm  nullptr if x is no norm's output
Activation Model::activation(const at::Tensor& read, const NormLayer* norm, const at::Tensor& x,
                             Mode mode) const {
  if (norm == nullptr || !norm->is_recomputed(options_.recompute, mode)) return read;
  return {read, x.detach(), [norm, mode](const at::Tensor& saved) { return (*norm)(saved, mode); }};
}

/// One sublayer:
///
///   base = stream, or stream + norm(y)
///   read = input ? norm(base) : base
///   out  = branch(read);  out = output ? norm(out) : out
///   y    = y + write_y * out
///   the new stream: add_branch()
template <typename Branch>
void Model::run_sublayer(State& state, const SublayerConnection& connection, std::int64_t l,
                         Sublayer sublayer, const Pass& pass, const Branch& branch) const {
  at::Tensor read;
  if (connection.dual) {
    const auto base = state.stream.value() + (*connection.dual)(state.second, pass.mode);
    read = connection.input ? (*connection.input)(base, pass.mode) : base;
  } else {
    read =
        connection.input ? state.stream.normed(*connection.input, pass.mode) : state.stream.value();
  }
  const auto* const norm = connection.dual || !connection.input ? nullptr : &*connection.input;
  const auto before = state.stream.value();
  auto input = activation(read, norm, before, pass.mode);
  // The skip connection takes the branch's input from its first linear layer.
  Taps taps = {.stream = before, .normed = read, .block_input = state.block_input};
  const auto input_tap = connection.input ? norm::Tap::normed : norm::Tap::stream;
  if (options_.fused && connection.rule.takes(input_tap) && !connection.dual) {
    input.residual_out = connection.input ? &taps.normed : &taps.stream;
  }
  auto out = branch(input);
  if (connection.output) out = (*connection.output)(out, pass.mode);
  if (pass.observer != nullptr && pass.observer->branch) {
    pass.observer->branch(l, sublayer, before, out);
  }
  if (state.second.defined()) state.second = state.second + out * connection.write_y;
  state.stream = add_branch(connection.rule, taps, out, pass.mode);
}

/// Both sublayers in parallel, from the same stream; one sum, by the rules of attention.
void Model::run_parallel(State& state, const Block& block, std::int64_t l, const Pass& pass,
                         const Positions& positions, KeyValueCache* cache) const {
  const auto& first = block.attention_connection;
  const auto& second = block.feed_forward_connection;
  const auto mode = pass.mode;
  const auto read = first.input ? state.stream.normed(*first.input, mode) : state.stream.value();
  const auto before = state.stream.value();
  const auto feed_forward_input = block.shares_input ? read
                                  : second.input     ? (*second.input)(before, mode)
                                                     : before;
  const auto input_norm = [&](const SublayerConnection& connection) {
    return connection.input ? &*connection.input : nullptr;
  };
  auto attention = block.attention(activation(read, input_norm(first), before, mode), positions,
                                   mode, cache, pass.observer);
  if (first.output) attention = (*first.output)(attention, mode);
  const auto* const second_norm = input_norm(block.shares_input ? first : second);
  auto feed_forward = run_feed_forward(state, block, l, pass,
                                       activation(feed_forward_input, second_norm, before, mode));
  if (second.output) feed_forward = (*second.output)(feed_forward, mode);
  if (pass.observer != nullptr && pass.observer->branch) {
    pass.observer->branch(l, Sublayer::attention, before, attention);
    pass.observer->branch(l, Sublayer::feed_forward, before, feed_forward);
  }
  state.stream = add_branch(first.rule, {before, read, before}, attention, mode,
                            second.rule.branch_scale(feed_forward));
}

/// Of the `positions` positions from `first` on.
Rotary Model::rotary(std::int64_t first, std::int64_t positions) const {
  const auto needed = std::max(first + positions, scheme_.shape.context);
  if (!rotary_.cos_sin.defined() || rotary_.cos_sin.size(0) < needed) {
    rotary_ = Rotary::of(0, needed, scheme_.shape.head_width(), options_.rope_theta,
                         compute_dtype(parameters_->precision()));
  }
  return rotary_.narrow(first, positions);
}

/// The start of each token's document; undefined where all positions are visible.
at::Tensor Model::document_starts_of(const at::Tensor& ids, std::int64_t first,
                                     ModelCache* cache) const {
  if (!options_.document_end) return {};
  const auto before = cache != nullptr ? cache->front().document_start : at::Tensor();
  auto documents = find_document_starts(ids, *options_.document_end, first, before);
  if (cache != nullptr) cache->front().document_start = documents.next;
  return documents.of_tokens;
}

/// What enters the first block.
Model::State Model::embedded(const at::Tensor& ids, Mode mode) const {
  const auto& weight = parameters_->at("embedding.weight");
  auto x = nn::embedding({weight.value, weight.gradient_buffer}, ids);
  if (embedding_norm_) x = (*embedding_norm_)(x, mode);
  x = embedding_scale_(x);
  return {ResidualStream(x), scheme_.dual ? x * y_init_ : at::Tensor(), {}, {}};
}

void Model::run_block(State& state, const Block& block, std::int64_t l, const Pass& pass,
                      const Positions& positions) const {
  auto* const cache =
      pass.cache != nullptr ? &pass.cache->at(static_cast<std::size_t>(l) - 1) : nullptr;
  if (scheme_.parallel) return run_parallel(state, block, l, pass, positions, cache);
  if (block.taps_its_input) state.block_input = state.stream.value();
  run_sublayer(state, block.attention_connection, l, Sublayer::attention, pass,
               [&](const Activation& read) {
                 return block.attention(read, positions, pass.mode, cache, pass.observer);
               });
  run_sublayer(
      state, block.feed_forward_connection, l, Sublayer::feed_forward, pass,
      [&](const Activation& read) { return run_feed_forward(state, block, l, pass, read); });
}

/// The branch alone; of a mixture, the observer gets its routing.
at::Tensor Model::run_feed_forward(State& state, const Block& block, std::int64_t l,
                                   const Pass& pass, const Activation& read) const {
  if (!block.mixture) return block.feed_forward(read, pass.mode);
  Routing routing;
  auto out = (*block.mixture)(read.value, pass.mode, &routing);
  if (pass.observer != nullptr && pass.observer->routing) pass.observer->routing(l, routing);
  if (pass.router != nullptr) {
    const auto losses = router_losses(routing);
    const auto both = at::stack({losses.balance, losses.z});
    state.router = state.router.defined() ? state.router + both : both;
  }
  return out;
}

/// run_block() as a checkpointed segment: only its input streams are saved.
void Model::run_block_checkpointed(State& state, const Block& block, std::int64_t l,
                                   const Pass& pass, const Positions& positions) const {
  const bool has_second = state.second.defined();
  const bool has_router = pass.router != nullptr && block.mixture.has_value();
  const Segment segment = [this, &block, l, pass, positions, has_second, has_router](
                              const Tensors& inputs, bool is_recomputation) {
    auto own = pass;
    if (is_recomputation) own.observer = nullptr;  // the forward pass called it
    auto tensors = inputs;
    State inside{ResidualStream(at::Tensor()), {}, {}, {}};
    if (has_second) {
      inside.second = tensors.back();
      tensors.pop_back();
    }
    inside.stream = ResidualStream::from_tensors(tensors);
    run_block(inside, block, l, own, positions);
    auto outputs = inside.stream.tensors();
    if (has_second) outputs.push_back(inside.second);
    if (has_router) outputs.push_back(inside.router);
    return outputs;
  };
  auto inputs = state.stream.tensors();
  if (has_second) inputs.push_back(state.second);
  auto outputs = run_checkpointed(segment, inputs);
  if (has_router) {
    state.router = state.router.defined() ? state.router + outputs.back() : outputs.back();
    outputs.pop_back();
  }
  if (has_second) {
    state.second = outputs.back();
    outputs.pop_back();
  }
  state.stream = ResidualStream::from_tensors(outputs);
}

at::Tensor Model::hidden(const at::Tensor& ids, const Pass& pass) const {
  const auto first = pass.cache != nullptr ? pass.cache->front().length : 0;
  const Positions positions(rotary(first, ids.size(1)), document_starts_of(ids, first, pass.cache));
  const bool reports_stream = pass.observer != nullptr && pass.observer->stream;
  // An observer may want gradients of streams, which a checkpointed block does not have.
  const bool is_observed =
      pass.observer != nullptr && (pass.observer->stream || pass.observer->branch);
  const bool is_checkpointed = options_.recompute == Recompute::block &&
                               pass.mode == Mode::training && !is_observed &&
                               at::GradMode::is_enabled();
  auto state = embedded(ids, pass.mode);
  if (reports_stream) pass.observer->stream(0, state.stream.value());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto l = static_cast<std::int64_t>(i) + 1;
    if (l == pass.skipped_block) continue;
    if (is_checkpointed) {
      run_block_checkpointed(state, blocks_[i], l, pass, positions);
    } else {
      run_block(state, blocks_[i], l, pass, positions);
    }
    if (reports_stream) pass.observer->stream(l, state.stream.value());
  }
  if (state.router.defined()) {
    const auto routers = scheme_.shape.layers - scheme_.shape.experts.dense_layers;
    const auto means = state.router / static_cast<double>(routers);
    *pass.router = {.balance = means[0], .z = means[1]};
  }
  if (state.second.defined()) {
    auto sum = state.stream.value();
    if (stream_x_norm_) sum = (*stream_x_norm_)(sum, pass.mode);
    state.stream = ResidualStream(sum, (*stream_y_norm_)(state.second, pass.mode));
  }
  return final_norm_ ? state.stream.normed(*final_norm_, pass.mode) : state.stream.value();
}

const Parameter& Model::head() const {
  return parameters_->at(options_.tied ? "embedding.weight" : "head.weight");
}

at::Tensor Model::logits(const at::Tensor& x) const {
  auto y = at::linear(x, head().value.narrow(0, 0, options_.vocabulary))
               .to(master_dtype(parameters_->precision()));
  y = logits_scale_(y);
  return logits_softcap_ ? at::tanh(y / *logits_softcap_) * *logits_softcap_ : y;
}

at::Tensor Model::loss_sum(const at::Tensor& ids, const at::Tensor& targets,
                           const Pass& pass) const {
  return loss_sum_of(hidden(ids, pass), targets);
}

at::Tensor Model::loss_sum_of(const at::Tensor& x, const at::Tensor& targets) const {
  const auto rows = x.flatten(0, 1);
  if (!options_.fused) return ops::reference::cross_entropy_sum(logits(rows), targets.flatten());
  ops::LogitsOptions rule{.vocabulary = options_.vocabulary, .softcap = logits_softcap_};
  if (!logits_scale_.is_learned()) {
    rule.scale = logits_scale_.fixed();
    return ops::linear_cross_entropy(rows, head().value, targets.flatten(), rule,
                                     head().gradient_buffer);
  }
  // One scale, or one a word of the vocabulary: the head's rows times it.
  const auto scored = head().value.narrow(0, 0, options_.vocabulary);
  const auto scaled = (scored * logits_scale_.value().unsqueeze(-1)).to(scored.scalar_type());
  return ops::linear_cross_entropy(rows, scaled, targets.flatten(), rule);
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

}  // namespace evenkeel::nn
