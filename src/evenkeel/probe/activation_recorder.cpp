// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/activation_recorder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

constexpr auto kLowest = -std::numeric_limits<double>::infinity();

double largest_score(const LayerStats& layer) {
  return std::accumulate(layer.scores.begin(), layer.scores.end(), kLowest, max_or_nan);
}

/// RMS of a sublayer's branch / RMS of the residual stream before the sublayer.
template <std::size_t kSublayer>
double branch_ratio(const LayerStats& layer) {
  return std::sqrt(layer.branch[kSublayer].value() / layer.residual[kSublayer].value());
}

/// The order of the profiles is part of the format of probes.jsonl: these measures, then head and
/// shift profiles, then kMeasuresAfterHeads, then router profiles.
constexpr std::array kMeasuresBeforeHeads = {
    LayerMeasure{"stream_rms", "", 0,
                 [](const LayerStats& layer) { return std::sqrt(layer.square.value()); }},
    LayerMeasure{"stream_max", "", 0, [](const LayerStats& layer) { return layer.largest; }},
    LayerMeasure{"branch_ratio", "attention", 1, branch_ratio<0>},
    LayerMeasure{"branch_ratio", "feed_forward", 1, branch_ratio<1>},
    LayerMeasure{"kurtosis", "", 0, [](const LayerStats& layer) { return layer.kurtosis.value(); }},
    LayerMeasure{"outlier_share", "", 0,
                 [](const LayerStats& layer) { return layer.outliers.value(); }},
    LayerMeasure{"attention_entropy", "", 1,
                 [](const LayerStats& layer) { return layer.entropy.value(); }},
    LayerMeasure{"attention_logit_max", "", 1, largest_score},
};
constexpr std::array kMeasuresAfterHeads = {
    LayerMeasure{"token_cosine", "", 0,
                 [](const LayerStats& layer) { return layer.cosine.value(); }},
    LayerMeasure{"effective_rank", "", 0,
                 [](const LayerStats& layer) { return layer.rank.value(); }},
    LayerMeasure{"block_angle", "", 1, [](const LayerStats& layer) { return layer.angle.value(); }},
    LayerMeasure{"token_mean", "", 0, [](const LayerStats& layer) { return layer.mean.value(); }},
};

}  // namespace

ActivationRecorder::ActivationRecorder(std::int64_t layer_count, std::set<std::string> measures)
    : measures_(std::move(measures)), layer_stats_(static_cast<std::size_t>(layer_count) + 1) {}

nn::Observer ActivationRecorder::observer() {
  nn::Observer observer;
  observer.stream = [this](std::int64_t l, const at::Tensor& stream) { record_stream(l, stream); };
  if (is_selected("branch_ratio")) {
    observer.branch = [this](std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                             const at::Tensor& branch) {
      record_branch(l, sublayer, stream, branch);
    };
  }
  const bool scores = is_selected("attention_entropy") || is_selected("attention_logit_max");
  const bool shifts = is_selected("sparse_attention") || is_selected("circuit_collapse");
  if (scores || shifts) {
    observer.attention = [=, this](std::int64_t l, const nn::AttentionInputs& inputs) {
      if (scores) record_attention(l, inputs);
      if (shifts) record_shifts(l, inputs);
    };
  }
  if (is_selected("router_entropy") || is_selected("router_logit_max") ||
      is_selected("expert_load") || is_selected("dead_experts")) {
    observer.routing = [this](std::int64_t l, const nn::Routing& routing) {
      routing_.record(l, routing);
    };
  }
  return observer;
}

void ActivationRecorder::record_stream(std::int64_t l, const at::Tensor& stream) {
  const at::NoGradGuard no_grad;
  const auto tokens = static_cast<double>(stream.size(0) * stream.size(1));
  auto& layer = layer_stats_.at(static_cast<std::size_t>(l));
  if (is_selected("stream_rms")) layer.square.add(mean_square(stream), tokens);
  if (is_selected("stream_max")) layer.largest = max_or_nan(layer.largest, max_abs(stream));
  if (is_selected("kurtosis")) layer.kurtosis.add(kurtosis(stream), tokens);
  if (is_selected("outlier_share")) layer.outliers.add(outlier_share(stream), tokens);
  if (is_selected("token_mean")) layer.mean.add(token_mean(stream), tokens);
  if (is_selected("token_cosine")) layer.cosine.add(token_cosine(stream), tokens);
  if (is_selected("effective_rank")) layer.rank.add(stream);
  if (!is_selected("block_angle")) return;
  if (l > 0) layer.angle.add(angle(block_input_, stream), tokens);
  block_input_ = stream.detach();
}

void ActivationRecorder::record_branch(std::int64_t l, nn::Sublayer sublayer,
                                       const at::Tensor& stream, const at::Tensor& branch) {
  const at::NoGradGuard no_grad;
  const auto tokens = static_cast<double>(stream.size(0) * stream.size(1));
  auto& layer = layer_stats_.at(static_cast<std::size_t>(l));
  const std::size_t which = sublayer == nn::Sublayer::attention ? 0 : 1;
  layer.branch[which].add(mean_square(branch), tokens);
  layer.residual[which].add(mean_square(stream), tokens);
}

void ActivationRecorder::record_attention(std::int64_t l, const nn::AttentionInputs& inputs) {
  const auto stats = nn::attention_stats(inputs);
  auto& layer = layer_stats_.at(static_cast<std::size_t>(l));
  const auto& q = inputs.q;  // [B, h, T, dk]: a mean over B T tokens
  layer.entropy.add(stats.entropy, static_cast<double>(q.size(0) * q.size(2)));
  const auto heads = static_cast<std::size_t>(stats.largest.size(0));
  layer.scores.resize(heads, kLowest);
  for (std::size_t h = 0; h < heads; ++h) {
    const auto score = stats.largest[static_cast<std::int64_t>(h)].item<double>();
    layer.scores[h] = max_or_nan(layer.scores[h], score);
  }
}

/// Counts the queries whose attention changes if the L2 norms of keys are noisy. The noise depends
/// on the block only, so it is equal at all steps, in all models and sequences.
void ActivationRecorder::record_shifts(std::int64_t l, const nn::AttentionInputs& inputs) {
  auto& layer = layer_stats_.at(static_cast<std::size_t>(l));
  const auto& k = inputs.k;
  const auto noise =
      randn(static_cast<std::uint64_t>(l), "probe/circuit_collapse", {k.size(1), k.size(2)});
  const auto sizes = at::tensor(kNoises, at::kDouble).view({-1, 1, 1});
  layer.shifts.add(nn::attention_shifts(inputs, (1 + sizes * noise).to(k.device())));
}

/// The fraction for each block, and for all sparse queries of the model. A mean over blocks would
/// overweight blocks with few sparse queries.
std::vector<LayerProfile> ActivationRecorder::shift_profiles() const {
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : std::numeric_limits<double>::quiet_NaN();
  };
  nn::AttentionShifts all;
  LayerProfile sparse{"sparse_attention", "", 1, {}};
  for (auto layer = layer_stats_.begin() + 1; layer != layer_stats_.end(); ++layer) {
    all.add(layer->shifts);
    sparse.values.push_back(share(layer->shifts.sparse, layer->shifts.queries));
  }
  std::vector<LayerProfile> out;
  if (is_selected("sparse_attention")) out.push_back(std::move(sparse));
  if (!is_selected("circuit_collapse") || all.shifted.empty()) return out;
  for (std::size_t i = 0; i < kNoises.size(); ++i) {
    const auto part = text("noise ", shortest(kNoises[i]));
    LayerProfile blocks{"circuit_collapse", part, 1, {}};
    for (auto layer = layer_stats_.begin() + 1; layer != layer_stats_.end(); ++layer) {
      const auto& shifts = layer->shifts;
      blocks.values.push_back(shifts.shifted.empty() ? share(0, 0)
                                                     : share(shifts.shifted[i], shifts.sparse));
    }
    out.push_back(std::move(blocks));
    out.push_back({"circuit_collapse", "model, " + part, 0, {share(all.shifted[i], all.sparse)}});
  }
  return out;
}

std::vector<LayerProfile> ActivationRecorder::layer_profiles(
    std::span<const LayerMeasure> layer_measures) const {
  std::vector<LayerProfile> profiles;
  for (const auto& [measure, part, first, value] : layer_measures) {
    if (!is_selected(measure)) continue;
    LayerProfile profile{measure, part, static_cast<std::int64_t>(first), {}};
    for (auto l = first; l < layer_stats_.size(); ++l) {
      profile.values.push_back(value(layer_stats_[l]));
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<LayerProfile> ActivationRecorder::head_profiles() const {
  std::vector<LayerProfile> profiles;
  if (!is_selected("attention_logit_max") || layer_stats_.size() < 2) return profiles;
  for (std::size_t h = 0; h < layer_stats_[1].scores.size(); ++h) {
    LayerProfile profile{"attention_logit_max", text("head ", h), 1, {}};
    for (auto layer = layer_stats_.begin() + 1; layer != layer_stats_.end(); ++layer) {
      profile.values.push_back(layer->scores[h]);
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<LayerProfile> ActivationRecorder::router_profiles() const {
  std::vector<LayerProfile> profiles;
  const auto routing = routing_.stats();
  if (routing.empty()) return profiles;
  const auto add_profile = [&](const char* measure, const auto& value) {
    if (!is_selected(measure)) return;
    LayerProfile profile{measure, "", 1, {}};
    profile.values.assign(layer_stats_.size() - 1, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < routing.blocks.size(); ++i) {
      profile.values[static_cast<std::size_t>(routing.blocks[i]) - 1] = value(i);
    }
    profiles.push_back(std::move(profile));
  };
  add_profile("router_entropy", [&](std::size_t i) { return routing.entropy[i]; });
  add_profile("router_logit_max", [&](std::size_t i) { return routing.largest_logit[i]; });
  add_profile("expert_load", [&](std::size_t i) { return routing.max_load(i); });
  add_profile("dead_experts", [&](std::size_t i) { return routing.dead_share(i); });
  return profiles;
}

std::vector<LayerProfile> ActivationRecorder::profiles() const {
  std::vector<LayerProfile> all;
  for (auto& part : {layer_profiles(kMeasuresBeforeHeads), head_profiles(), shift_profiles(),
                     layer_profiles(kMeasuresAfterHeads), router_profiles()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace evenkeel::probe
