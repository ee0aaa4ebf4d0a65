// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/layer_profile.h"

/// Lengths of gradients, updates and drifts, by layer. In float64, summed in a fixed order.
namespace evenkeel::probe {

/// grad_norm. Parts, each the Euclidean length of all that
/// it names: "model" (a single value, at layer 0); "block"; "q", "k", "v", "output", "up", "gate",
/// "down" (rows of stored matrices); "gains" (of all norms of the block, with their other
/// parameters); and every parameter by its name, in a block without "blocks.N.".
/// \param gradients  one flat buffer a group of `parameters`
std::vector<LayerProfile> gradient_norms(const nn::Parameters& parameters,
                                         const std::vector<at::Tensor>& gradients,
                                         const norm::Scheme& scheme);

/// gain_drift: how far the gain of each norm has moved since the start, parts "NORM mean" and
/// "NORM max" with NORM the name of its tensors.
/// \param planned  optimizer steps of the run: initial values may depend on it
std::vector<LayerProfile> gain_drifts(const nn::Parameters& parameters, const norm::Scheme& scheme,
                                      std::int64_t planned);

/// A copy of the values of all parameters.
class ParameterSnapshot {
 public:
  explicit ParameterSnapshot(const nn::Parameters& parameters);
  /// update_ratio: |now - then| / |then| of each parameter; NaN for one that was all zeros.
  std::vector<LayerProfile> update_ratios(const nn::Parameters& now,
                                          const norm::Scheme& scheme) const;

 private:
  std::vector<at::Tensor> masters_;  // a copy of each group's
};

}  // namespace evenkeel::probe
