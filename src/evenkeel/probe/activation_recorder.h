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

/// Standard deviations s of the noise for circuit_collapse: keys are multiplied by 1 + s z with
/// standard normal z.
inline constexpr std::array<double, 3> kNoises = {0.05, 0.1, 0.2};

/// Statistics of one layer, over all batches that passed.
struct LayerStats {
  WeightedMean square;    // mean(x^2) of the residual stream
  WeightedMean kurtosis;  // of the residual stream, as are outliers and cosine
  WeightedMean outliers;
  WeightedMean cosine;
  WeightedMean angle;                    // between the block's input and output, over pi
  WeightedMean entropy;                  // of attention weights, nats
  std::array<WeightedMean, 2> branch;    // mean(x^2) of the branch: attention, feed-forward
  std::array<WeightedMean, 2> residual;  // mean(x^2) of the residual stream before it
  double largest = 0;                    // max |x| of the residual stream
  std::vector<double> scores;            // the largest attention score of each head
  nn::AttentionShifts shifts;            // a count for each of kNoises
  EffectiveRank rank;                    // of the residual stream
};

/// A measure with one value a layer, read from its statistics.
struct LayerMeasure {
  const char* name;
  const char* part;   // of a layer
  std::size_t first;  // layer: 0 for the residual stream, 1 for blocks
  double (*value)(const LayerStats& layer);
};

/// Records statistics of residual streams, branches and attention while batches pass through a
/// model. A mean over tokens is one over the tokens of all batches, whatever their sizes.
class ActivationRecorder {
 public:
  /// \param layer_count  blocks of the model
  /// \param measures     names of measures (config::measures()): only these are computed
  ActivationRecorder(std::int64_t layer_count, std::set<std::string> measures);

  /// The callbacks for forward passes; valid during the lifetime of this object.
  nn::Observer observer();

  /// The profiles over all batches. Measures of the residual stream begin at layer 0, measures of
  /// blocks at layer 1.
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
  std::vector<LayerStats> layer_stats_;  // layers 0 .. N
  RoutingRecorder routing_;              // of the blocks that are mixtures
  at::Tensor block_input_;               // [B, T, D], residual stream at the input of the block
};

}  // namespace evenkeel::probe
