// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/attention_stats.h"
#include "evenkeel/probe/profile.h"
#include "evenkeel/probe/routing_meter.h"
#include "evenkeel/probe/streams.h"

namespace evenkeel::probe {

/// Standard deviations of the factors on the length of keys, for circuit_collapse.
inline constexpr std::array<double, 3> kNoises = {0.05, 0.1, 0.2};

/// Looks at streams, branches and attention while batches pass through a model, and sums up what
/// it saw. The batches may be of different sizes: a mean over tokens is one over all of them.
class Onlooker {
 public:
  /// \param what  names of measures: only these are computed
  Onlooker(std::int64_t layers, std::set<std::string> what);

  /// To be handed to passes while this object lives.
  nn::Observer observer();

  /// Of all that passed. A measure of the stream begins at layer 0, the others at block 1.
  std::vector<Profile> profiles() const;

 private:
  struct Layer {
    Mean square, kurtosis, outliers, cosine, angle, entropy;
    Mean branch[2], beside[2];  // mean squares of a sublayer's branch, and of the stream before it
    double largest = 0;
    std::vector<double> scores;  // by head: the largest
    nn::AttentionShifts shifts;           // a count for each of kNoises
    EffectiveRank rank;
  };
  bool wanted(const char* measure) const { return what_.contains(measure); }
  void see_stream(std::int64_t l, const at::Tensor& stream);
  void see_branch(std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                  const at::Tensor& branch);
  void see_attention(std::int64_t l, const nn::AttentionInputs& inputs);
  void see_shifts(std::int64_t l, const nn::AttentionInputs& inputs);
  std::vector<Profile> shift_profiles() const;

  std::set<std::string> what_;
  std::vector<Layer> layers_;  // 0 .. N
  RoutingMeter routing_;       // of the blocks that are mixtures
  at::Tensor before_;          // the stream that entered the block at hand
};

}  // namespace evenkeel::probe
