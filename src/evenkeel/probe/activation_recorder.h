// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/nn/attention_stats.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/layer_profile.h"
#include "evenkeel/probe/routing_recorder.h"

namespace evenkeel::probe {

/// Standard deviations of the factors on the length of keys, for circuit_collapse.
inline constexpr std::array<double, 3> kNoises = {0.05, 0.1, 0.2};

/// Records statistics of residual streams, branches and attention while batches pass through a
/// model. The batches may be of different sizes: a mean over tokens is one over all of them.
class ActivationRecorder {
 public:
  /// \param measures  names of measures: only these are computed
  ActivationRecorder(std::int64_t layer_count, std::set<std::string> measures);

  /// For forward passes during the lifetime of this object.
  nn::Observer observer();

  /// Of all batches. A measure of the stream begins at layer 0, the others at block 1.
  std::vector<LayerProfile> profiles() const;

 private:
  struct LayerStats {
    WeightedMean square, kurtosis, outliers, cosine, angle, entropy;
    WeightedMean branch[2],
        residual[2];  // mean squares of a sublayer's branch, and of the stream before it
    double largest = 0;
    std::vector<double> scores;  // by head: the largest
    nn::AttentionShifts shifts;  // a count for each of kNoises
    EffectiveRank rank;
  };
  bool is_selected(const char* measure) const { return measures_.contains(measure); }
  void record_stream(std::int64_t l, const at::Tensor& stream);
  void record_branch(std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                     const at::Tensor& branch);
  void record_attention(std::int64_t l, const nn::AttentionInputs& inputs);
  void record_shifts(std::int64_t l, const nn::AttentionInputs& inputs);
  std::vector<LayerProfile> shift_profiles() const;

  std::set<std::string> measures_;
  std::vector<LayerStats> layer_stats_;  // 0 .. N
  RoutingRecorder routing_;              // of the blocks that are mixtures
  at::Tensor block_input_;               // the residual stream that entered the present block
};

}  // namespace evenkeel::probe
