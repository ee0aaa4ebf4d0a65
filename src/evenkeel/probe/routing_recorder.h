// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/nn/mixture_of_experts.h"

namespace evenkeel::probe {

/// Routing statistics of one batch: one element per router, in the order of the blocks.
struct RoutingStats {
  std::vector<std::int64_t> blocks;               // block, from 1
  std::vector<std::vector<std::int64_t>> tokens;  // tokens assigned to each expert
  std::vector<double> entropy;        // mean entropy of a token's router probabilities, nats
  std::vector<double> largest_logit;  // largest |router logit|

  /// True if the model has no router.
  bool empty() const { return blocks.empty(); }

  /// Largest load of an expert / mean load. \param i  index of a router
  double max_load(std::size_t i) const;
  /// Fraction of experts without tokens. \param i  index of a router
  double dead_share(std::size_t i) const;
};

/// Accumulates routing statistics over the micro-batches of a batch.
class RoutingRecorder {
 public:
  /// Adds one forward pass of a router. \param l  its block, from 1
  void record(std::int64_t l, const nn::Routing& routing);

  /// Adds the passes of another recorder of the same model. \param values  of its values()
  void add(const std::vector<double>& values);

  /// The sums of all passes so far, as numbers: empty without a router, else of a fixed length.
  std::vector<double> values() const;

  /// The statistics of all passes so far.
  RoutingStats stats() const;

 private:
  struct Router {
    at::Tensor counts;            // [E], int64: tokens per expert
    at::Tensor entropy, largest;  // scalars, float64; on the device of the model, as counts
    double tokens = 0;
    std::int64_t l = 0;
  };
  /// The sums of a router, of the fields of values().
  static std::vector<double> sums_of(const Router& router);
  std::vector<Router> routers_;
};

}  // namespace evenkeel::probe
