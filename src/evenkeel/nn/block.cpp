// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/block.h"

#include <ATen/ATen.h>

#include <utility>

#include "evenkeel/nn/observer.h"
#include "evenkeel/ops/common/activation_checkpoint.h"

namespace evenkeel::nn {

using ops::Tensors;

namespace {

/// The input of a branch: `read`, which the backward pass recomputes as norm(base) where
/// Recompute::norms applies.
/// \param norm  nullptr if `read` is not a norm's output
Activation branch_input(const at::Tensor& read, const NormLayer* norm, const at::Tensor& base,
                        const Block& block, Mode mode) {
  if (norm == nullptr || !norm->is_recomputed(block.recompute, mode)) return read;
  return {read, base.detach(),
          [norm, mode](const at::Tensor& saved) { return (*norm)(saved, mode); }};
}

const NormLayer* pointer(const std::optional<NormLayer>& norm) {
  return norm ? &*norm : nullptr;
}

/// read = input_norm(base), base = x or x + dual_norm(y). [B, T, D]
at::Tensor sublayer_input(BlockState& state, const SublayerConnection& connection, Mode mode) {
  const auto& [dual, input, output, rule, write_y] = connection;
  if (!dual) return input ? state.x.normed(*input, mode) : state.x.value();
  const auto base = state.x.value() + (*dual)(state.y, mode);
  return input ? (*input)(base, mode) : base;
}

void report_branch(const Pass& pass, std::int64_t l, Sublayer sublayer, const at::Tensor& stream,
                   const at::Tensor& branch) {
  if (pass.observer == nullptr || !pass.observer->branch) return;
  pass.observer->branch(l, sublayer, stream, branch);
}

/// The equation of the header for one sublayer.
/// \param branch  F: Activation -> [B, T, D]
template <typename Branch>
void run_sublayer(BlockState& state, const Block& block, const SublayerConnection& connection,
                  Sublayer sublayer, const Pass& pass, const Branch& branch) {
  const auto& [dual, input_norm, output_norm, rule, write_y] = connection;
  const auto read = sublayer_input(state, connection, pass.mode);
  const auto x = state.x.value();
  auto input = branch_input(read, dual ? nullptr : pointer(input_norm), x, block, pass.mode);
  Taps taps = {.stream = x, .normed = read, .block_input = state.block_input};
  // The first linear layer of the branch returns its input for the skip connection.
  const auto input_tap = input_norm ? norm::Tap::normed : norm::Tap::stream;
  if (block.fused && rule.takes(input_tap) && !dual) {
    input.residual_out = input_norm ? &taps.normed : &taps.stream;
  }
  auto out = branch(input);
  if (output_norm) out = (*output_norm)(out, pass.mode);
  report_branch(pass, block.l, sublayer, x, out);
  if (state.y.defined()) state.y = state.y + out * write_y.value;
  state.x = residual_update(rule, taps, out, pass.mode);
}

/// The feed-forward branch. A mixture of experts reports its routing and its auxiliary losses.
at::Tensor run_feed_forward(BlockState& state, const Block& block, const Pass& pass,
                            const Activation& read) {
  if (!block.mixture) return block.feed_forward(read, pass.mode);
  Routing routing;
  auto out = (*block.mixture)(read.value, pass.mode, &routing);
  if (pass.observer != nullptr && pass.observer->routing) pass.observer->routing(block.l, routing);
  if (pass.router != nullptr) {
    const auto losses = router_losses(routing);
    const auto both = at::stack({losses.balance, losses.z});
    state.router = state.router.defined() ? state.router + both : both;
  }
  return out;
}

/// The equation of a parallel block. Skip connection and norm of the sum are those of attention.
void run_parallel(BlockState& state, const Block& block, const Pass& pass,
                  const Positions& positions, KeyValueCache* cache) {
  const auto& a = block.attention_connection;
  const auto& f = block.feed_forward_connection;
  const auto mode = pass.mode;
  const auto read = sublayer_input(state, a, mode);
  const auto x = state.x.value();
  const auto feed_forward_read = block.shares_input ? read : f.input ? (*f.input)(x, mode) : x;
  auto attention = block.attention(branch_input(read, pointer(a.input), x, block, mode), positions,
                                   mode, cache, pass.observer);
  if (a.output) attention = (*a.output)(attention, mode);
  const auto* const feed_forward_norm = pointer(block.shares_input ? a.input : f.input);
  auto feed_forward = run_feed_forward(
      state, block, pass, branch_input(feed_forward_read, feed_forward_norm, x, block, mode));
  if (f.output) feed_forward = (*f.output)(feed_forward, mode);
  report_branch(pass, block.l, Sublayer::attention, x, attention);
  report_branch(pass, block.l, Sublayer::feed_forward, x, feed_forward);
  state.x =
      residual_update(a.rule, {x, read, x}, attention, mode, f.rule.branch_scale(feed_forward));
}

/// The streams of a state as the inputs or outputs of a checkpointed segment, and back: the tensors
/// of x, then y if there are two streams.
Tensors tensors_of(const BlockState& state) {
  auto tensors = state.x.tensors();
  if (state.y.defined()) tensors.push_back(state.y);
  return tensors;
}

BlockState state_of(Tensors tensors, bool has_y) {
  at::Tensor y;
  if (has_y) {
    y = tensors.back();
    tensors.pop_back();
  }
  return {ResidualStream::from_tensors(tensors), y, {}, {}};
}

bool set_connection_step(SublayerConnection& connection, const norm::Variables& variables) {
  auto& [dual, input, output, rule, write_y] = connection;
  return set_parts_step(variables, dual, input, output, write_y, rule.skip_scale, rule.branch_scale,
                        rule.angle_decay, rule.residual, rule.damp);
}

}  // namespace

void run_block(BlockState& state, const Block& block, const Pass& pass,
               const Positions& positions) {
  auto* const cache =
      pass.cache != nullptr ? &pass.cache->at(static_cast<std::size_t>(block.l) - 1) : nullptr;
  if (block.is_parallel) return run_parallel(state, block, pass, positions, cache);
  if (block.taps_its_input) state.block_input = state.x.value();
  run_sublayer(state, block, block.attention_connection, Sublayer::attention, pass,
               [&](const Activation& read) {
                 return block.attention(read, positions, pass.mode, cache, pass.observer);
               });
  run_sublayer(state, block, block.feed_forward_connection, Sublayer::feed_forward, pass,
               [&](const Activation& read) { return run_feed_forward(state, block, pass, read); });
}

void run_block_checkpointed(BlockState& state, const Block& block, const Pass& pass,
                            const Positions& positions) {
  const bool has_y = state.y.defined();
  const bool has_router = pass.router != nullptr && block.mixture.has_value();
  const ops::Segment segment = [&block, pass, positions, has_y, has_router](const Tensors& inputs,
                                                                            bool is_recomputation) {
    auto own = pass;
    if (is_recomputation) own.observer = nullptr;  // the forward pass called it
    auto inside = state_of(inputs, has_y);
    run_block(inside, block, own, positions);
    auto outputs = tensors_of(inside);
    if (has_router) outputs.push_back(inside.router);
    return outputs;
  };
  auto outputs = ops::run_checkpointed(segment, tensors_of(state));
  auto router = state.router;
  if (has_router) {
    router = router.defined() ? router + outputs.back() : outputs.back();
    outputs.pop_back();
  }
  state = state_of(std::move(outputs), has_y);
  state.router = std::move(router);
}

bool set_step(Block& block, const norm::Variables& variables) {
  const auto set = [&](auto&... parts) { return set_parts_step(variables, parts...); };
  auto& a = block.attention;
  auto& f = block.feed_forward;
  bool any = set_connection_step(block.attention_connection, variables);
  any = set_connection_step(block.feed_forward_connection, variables) || any;
  any = set(a.q_norm, a.k_norm, a.v_norm, a.context_norm, a.scale, a.softcap) || any;
  any = set(f.up_gate_scale, f.hidden_norm) || any;
  if (!block.mixture) return any;
  auto& mixture = *block.mixture;
  if (mixture.shared) any = set(mixture.shared->up_gate_scale, mixture.shared->hidden_norm) || any;
  return set(mixture.hidden_norm) || any;
}

}  // namespace evenkeel::nn
