// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/nn/mixture_of_experts.h"

namespace evenkeel::probe {

/// Routing statistics of one batch: one element a router, in the order of the blocks.
struct RoutingStats {
  std::vector<std::int64_t> blocks;               // number of the block, from 1
  std::vector<std::vector<std::int64_t>> tokens;  // tokens assigned to each expert
  std::vector<double> entropy;                    // of a token's router probabilities, mean; nats
  std::vector<double> largest_logit;              // largest magnitude

  /// Whether the model has no router.
  bool empty() const { return blocks.empty(); }

  /// The largest load of an expert over the mean load. \param i  index of a router
  double max_load(std::size_t i) const;
  /// The share of experts without a token. \param i  index of a router
  double dead_share(std::size_t i) const;
};

/// Accumulates routing statistics over the micro-batches of a batch.
class RoutingRecorder {
 public:
  /// Adds one forward pass of a router. \param l  number of its block, from 1
  void record(std::int64_t l, const nn::Routing& routing);

  /// The statistics of all passes so far.
  RoutingStats stats() const;

 private:
  struct Router {
    at::Tensor counts;  // [E], int64: tokens
    double entropy = 0, tokens = 0, largest = 0;
    std::int64_t l = 0;
  };
  std::vector<Router> routers_;
};

}  // namespace evenkeel::probe
