// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/layer_profile.h"

/// L2 norms of gradients and updates, and drifts of gains, by layer. Sums are in float64, in a
/// fixed order.
namespace evenkeel::probe {

/// The measure grad_norm: L2 norms of gradients, in this order of parts:
///
/// | part                                   | gradients                                          |
/// | -------------------------------------- | -------------------------------------------------- |
/// | model                                  | all parameters; one value, at layer 0              |
/// | block                                  | all parameters of a block                          |
/// | q, k, v, output, up, gate, down        | rows of stored matrices; all experts together      |
/// | router                                 | the router of a mixture of experts                 |
/// | gains                                  | all parameters of all norms of a block             |
/// | name of a parameter, without blocks.N. | that parameter                                     |
///
/// \param gradients  one flat buffer a group of `parameters`
std::vector<LayerProfile> gradient_norms(const nn::Parameters& parameters,
                                         const std::vector<at::Tensor>& gradients,
                                         const norm::Scheme& scheme);

/// The measure gain_drift: |gain - initial gain| of each norm, as parts "NORM mean" and "NORM max",
/// where NORM is the name of its tensors.
/// \param planned  optimizer steps of the run: initial values may depend on it
std::vector<LayerProfile> gain_drifts(const nn::Parameters& parameters, const norm::Scheme& scheme,
                                      std::int64_t planned);

/// A copy of the master weights of all parameters.
class ParameterSnapshot {
 public:
  explicit ParameterSnapshot(const nn::Parameters& parameters);

  /// The measure update_ratio: |now - then| / |then| of each parameter, in L2 norms; NaN for a
  /// parameter that was all zeros.
  std::vector<LayerProfile> update_ratios(const nn::Parameters& now,
                                          const norm::Scheme& scheme) const;

 private:
  std::vector<at::Tensor> masters_;  // one flat buffer a parameter group
};

}  // namespace evenkeel::probe
