// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "evenkeel/nn/attention_stats.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/layer_profile.h"
#include "evenkeel/probe/routing_recorder.h"

namespace evenkeel::probe {

/// Noise levels s of the measure circuit_collapse. Keys are multiplied by 1 + s z with standard
/// normal z.
inline constexpr std::array<double, 3> kNoises = {0.05, 0.1, 0.2};

/// The statistics of one layer over all recorded batches.
struct LayerStats {
  WeightedMean square;                   // mean(x^2) of the residual stream
  WeightedMean kurtosis;                 // of the residual stream
  WeightedMean outliers;                 // of the residual stream
  WeightedMean mean;                     // of the residual stream
  WeightedMean cosine;                   // of the residual stream
  WeightedMean angle;                    // between input and output of the block, divided by pi
  WeightedMean entropy;                  // of attention weights, nats
  std::array<WeightedMean, 2> branch;    // mean(x^2) of the attention and the feed-forward branch
  std::array<WeightedMean, 2> residual;  // mean(x^2) of the residual stream before each sublayer
  double largest = 0;                    // max |x| of the residual stream
  std::vector<double> scores;            // by head: largest attention score
  nn::AttentionShifts shifts;            // one count per noise level of kNoises
  EffectiveRank rank;                    // of the residual stream
};

/// A measure with one value per layer, computed from LayerStats.
struct LayerMeasure {
  const char* name;
  const char* part;   // LayerProfile::part
  std::size_t first;  // first layer: 0 for the residual stream, 1 for blocks
  double (*value)(const LayerStats& layer);
};

/// Records statistics of residual streams, branches and attention during forward passes. A mean is
/// over the tokens of all batches, independent of the batch sizes.
class ActivationRecorder {
 public:
  /// \param layer_count  number of blocks, N
  /// \param measures     names from config::measures(); other measures are not computed
  ActivationRecorder(std::int64_t layer_count, std::set<std::string> measures);

  /// The observer for forward passes. It is valid during the lifetime of this object.
  nn::Observer observer();

  /// The profiles over all batches. The first layer is 0 for measures of the residual stream, and 1
  /// for measures of blocks.
  std::vector<LayerProfile> profiles() const;

 private:
  bool is_selected(const char* measure) const { return measures_.contains(measure); }
  void record_stream(std::int64_t l, const at::Tensor& stream);
  void record_branch(std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                     const at::Tensor& branch);
  void record_attention(std::int64_t l, const nn::AttentionInputs& inputs);
  void record_shifts(std::int64_t l, const nn::AttentionInputs& inputs);
  std::vector<LayerProfile> layer_profiles(std::span<const LayerMeasure> layer_measures) const;
  std::vector<LayerProfile> head_profiles() const;
  std::vector<LayerProfile> shift_profiles() const;
  std::vector<LayerProfile> router_profiles() const;

  std::set<std::string> measures_;
  std::vector<LayerStats> layer_stats_;  // layers 0 to N
  RoutingRecorder routing_;              // of the mixture-of-experts blocks
  at::Tensor block_input_;               // [B, T, D], residual stream before the current block
};

}  // namespace evenkeel::probe
