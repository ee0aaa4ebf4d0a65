// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/nn/mixture_of_experts.h"

namespace evenkeel::probe {

/// Routing statistics of one batch: an element per router, in the order of the blocks.
struct RoutingStats {
  std::vector<std::int64_t> blocks;               // from 1
  std::vector<std::vector<std::int64_t>> tokens;  // of each expert: assigned tokens
  std::vector<double> entropy;                    // of a token's probabilities, mean; nats
  std::vector<double> largest_logit;              // magnitude

  bool empty() const { return blocks.empty(); }
  /// The largest load of an expert over the mean load. \param i  a router
  double max_load(std::size_t i) const;
  /// The share of experts without a token.
  double dead_share(std::size_t i) const;
};

/// Accumulates routing statistics over forward passes. A batch may come in parts.
class RoutingRecorder {
 public:
  void record(std::int64_t l, const nn::Routing& routing);
  RoutingStats stats() const;

 private:
  struct Router {
    at::Tensor counts;  // [E]
    double entropy = 0, tokens = 0, largest = 0;
    std::int64_t l = 0;
  };
  std::vector<Router> routers_;
};

}  // namespace evenkeel::probe
