// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/onlooker.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

constexpr auto kLowest = -std::numeric_limits<double>::infinity();

}  // namespace

Onlooker::Onlooker(std::int64_t layers, std::set<std::string> what)
    : what_(std::move(what)), layers_(static_cast<std::size_t>(layers) + 1) {}

nn::Observer Onlooker::observer() {
  nn::Observer observer;
  observer.stream = [this](std::int64_t l, const at::Tensor& stream) { see_stream(l, stream); };
  if (wanted("branch_ratio")) {
    observer.branch = [this](std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                             const at::Tensor& branch) { see_branch(l, sublayer, stream, branch); };
  }
  const bool scores = wanted("attention_entropy") || wanted("attention_logit_max");
  const bool shifts = wanted("sparse_attention") || wanted("circuit_collapse");
  if (scores || shifts) {
    observer.attention = [=, this](std::int64_t l, const nn::AttentionInputs& inputs) {
      if (scores) see_attention(l, inputs);
      if (shifts) see_shifts(l, inputs);
    };
  }
  if (wanted("router_entropy") || wanted("router_logit_max") || wanted("expert_load") ||
      wanted("dead_experts")) {
    observer.routing = [this](std::int64_t l, const nn::Routing& routing) {
      routing_.see(l, routing);
    };
  }
  return observer;
}

void Onlooker::see_stream(std::int64_t l, const at::Tensor& stream) {
  const at::NoGradGuard no_grad;
  const auto tokens = static_cast<double>(stream.size(0) * stream.size(1));
  auto& layer = layers_.at(static_cast<std::size_t>(l));
  if (wanted("stream_rms")) layer.square.add(mean_square(stream), tokens);
  if (wanted("stream_max")) layer.largest = larger(layer.largest, largest(stream));
  if (wanted("kurtosis")) layer.kurtosis.add(kurtosis(stream), tokens);
  if (wanted("outlier_share")) layer.outliers.add(outlier_share(stream), tokens);
  if (wanted("token_cosine")) layer.cosine.add(token_cosine(stream), tokens);
  if (wanted("effective_rank")) layer.rank.add(stream);
  if (!wanted("block_angle")) return;
  if (l > 0) layer.angle.add(angle(before_, stream), tokens);
  before_ = stream.detach();
}

void Onlooker::see_branch(std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                          const at::Tensor& branch) {
  const at::NoGradGuard no_grad;
  const auto tokens = static_cast<double>(stream.size(0) * stream.size(1));
  auto& layer = layers_.at(static_cast<std::size_t>(l));
  const auto which = sublayer == nn::Sublayer::attention ? 0 : 1;
  layer.branch[which].add(mean_square(branch), tokens);
  layer.beside[which].add(mean_square(stream), tokens);
}

void Onlooker::see_attention(std::int64_t l, const nn::AttentionInputs& inputs) {
  const auto seen = nn::attention_stats(inputs);
  auto& layer = layers_.at(static_cast<std::size_t>(l));
  layer.entropy.add(seen.entropy, static_cast<double>(inputs.q.size(0)));
  const auto heads = static_cast<std::size_t>(seen.largest.size(0));
  layer.scores.resize(heads, kLowest);
  for (std::size_t h = 0; h < heads; ++h) {
    const auto score = seen.largest[static_cast<std::int64_t>(h)].item<double>();
    layer.scores[h] = larger(layer.scores[h], score);
  }
}

/// The same noise at every step, in every model and every sequence; another one in every block.
void Onlooker::see_shifts(std::int64_t l, const nn::AttentionInputs& inputs) {
  auto& layer = layers_.at(static_cast<std::size_t>(l));
  const auto& k = inputs.k;
  const auto noise =
      normals(static_cast<std::uint64_t>(l), "probe/circuit_collapse", {k.size(1), k.size(2)});
  const auto sizes = at::tensor(kNoises, at::kDouble).view({-1, 1, 1});
  layer.shifts.add(nn::attention_shifts(inputs, 1 + sizes * noise));
}

/// Of each block, and of all sparse queries of the model: the mean of the blocks' shares would let
/// one with few of them weigh as much as one with many.
std::vector<Profile> Onlooker::shift_profiles() const {
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : std::numeric_limits<double>::quiet_NaN();
  };
  nn::AttentionShifts all;
  Profile sparse{"sparse_attention", "", 1, {}};
  for (auto layer = layers_.begin() + 1; layer != layers_.end(); ++layer) {
    all.add(layer->shifts);
    sparse.values.push_back(share(layer->shifts.sparse, layer->shifts.queries));
  }
  std::vector<Profile> out;
  if (wanted("sparse_attention")) out.push_back(std::move(sparse));
  if (!wanted("circuit_collapse") || all.shifted.empty()) return out;
  for (std::size_t i = 0; i < kNoises.size(); ++i) {
    const auto part = text("noise ", shortest(kNoises[i]));
    Profile blocks{"circuit_collapse", part, 1, {}};
    for (auto layer = layers_.begin() + 1; layer != layers_.end(); ++layer) {
      const auto& shifts = layer->shifts;
      blocks.values.push_back(shifts.shifted.empty() ? share(0, 0)
                                                     : share(shifts.shifted[i], shifts.sparse));
    }
    out.push_back(std::move(blocks));
    out.push_back({"circuit_collapse", "model, " + part, 0, {share(all.shifted[i], all.sparse)}});
  }
  return out;
}

std::vector<Profile> Onlooker::profiles() const {
  std::vector<Profile> all;
  const auto tell = [&](const char* measure, const std::string& part, std::size_t first,
                        const std::function<double(const Layer&)>& value) {
    if (!wanted(measure)) return;
    Profile profile{measure, part, static_cast<std::int64_t>(first), {}};
    for (auto l = first; l < layers_.size(); ++l) profile.values.push_back(value(layers_[l]));
    all.push_back(std::move(profile));
  };
  const auto ratio = [](int sublayer) {
    return [sublayer](const Layer& layer) {
      return std::sqrt(layer.branch[sublayer].value() / layer.beside[sublayer].value());
    };
  };
  tell("stream_rms", "", 0, [](const Layer& layer) { return std::sqrt(layer.square.value()); });
  tell("stream_max", "", 0, [](const Layer& layer) { return layer.largest; });
  tell("branch_ratio", "attention", 1, ratio(0));
  tell("branch_ratio", "feed_forward", 1, ratio(1));
  tell("kurtosis", "", 0, [](const Layer& layer) { return layer.kurtosis.value(); });
  tell("outlier_share", "", 0, [](const Layer& layer) { return layer.outliers.value(); });
  tell("attention_entropy", "", 1, [](const Layer& layer) { return layer.entropy.value(); });
  tell("attention_logit_max", "", 1, [](const Layer& layer) {
    return std::accumulate(layer.scores.begin(), layer.scores.end(), kLowest, larger);
  });
  for (std::size_t h = 0; layers_.size() > 1 && h < layers_[1].scores.size(); ++h) {
    tell("attention_logit_max", text("head ", h), 1,
         [h](const Layer& layer) { return layer.scores[h]; });
  }
  for (auto& profile : shift_profiles()) all.push_back(std::move(profile));
  tell("token_cosine", "", 0, [](const Layer& layer) { return layer.cosine.value(); });
  tell("effective_rank", "", 0, [](const Layer& layer) { return layer.rank.value(); });
  tell("block_angle", "", 1, [](const Layer& layer) { return layer.angle.value(); });
  const auto seen = routing_.seen();
  const auto tell_router = [&](const char* measure,
                               const std::function<double(std::size_t)>& value) {
    if (!wanted(measure) || seen.empty()) return;
    Profile profile{measure, "", 1, {}};
    profile.values.assign(layers_.size() - 1, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < seen.blocks.size(); ++i) {
      profile.values[static_cast<std::size_t>(seen.blocks[i]) - 1] = value(i);
    }
    all.push_back(std::move(profile));
  };
  tell_router("router_entropy", [&](std::size_t i) { return seen.entropy[i]; });
  tell_router("router_logit_max", [&](std::size_t i) { return seen.largest_logit[i]; });
  tell_router("expert_load", [&](std::size_t i) { return seen.load(i); });
  tell_router("dead_experts", [&](std::size_t i) { return seen.dead(i); });
  return all;
}

}  // namespace evenkeel::probe
