// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/nn/mixture_of_experts.h"

namespace evenkeel::probe {

/// What the routers of a mixture did with one batch: a list a router, in the order of the blocks.
struct RoutingSeen {
  std::vector<std::int64_t> blocks;               // from 1
  std::vector<std::vector<std::int64_t>> tokens;  // of each expert: choices that fell on it
  std::vector<double> entropy;                    // of a token's probabilities, mean; nats
  std::vector<double> largest_logit;              // magnitude

  bool empty() const { return blocks.empty(); }
  /// Choices of the busiest expert over the mean of all. \param i  a router
  double load(std::size_t i) const;
  /// Share of the experts that nothing fell on.
  double dead(std::size_t i) const;
};

/// Adds up what passes say of their routers. A batch may come in parts.
class RoutingMeter {
 public:
  void see(std::int64_t l, const nn::Routing& routing);
  RoutingSeen seen() const;

 private:
  struct Router {
    at::Tensor counts;  // [E]
    double entropy = 0, tokens = 0, largest = 0;
    std::int64_t l = 0;
  };
  std::vector<Router> routers_;
};

}  // namespace evenkeel::probe
