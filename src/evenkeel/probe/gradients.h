// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/layer_profile.h"

/// L2 norms of gradients, weights and updates, and gain drifts, by layer. Sums are in float64, in a
/// fixed order.
namespace evenkeel::probe {

/// The measure grad_norm, L2 norms of gradients, with these parts in this order:
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
/// \param gradients  one flat buffer per parameter group
std::vector<LayerProfile> gradient_norms(const nn::Parameters& parameters,
                                         const std::vector<at::Tensor>& gradients,
                                         const norm::Scheme& scheme);

/// The measure weight_norm: L2 norms of the master weights, with the parts of gradient_norms().
std::vector<LayerProfile> weight_norms(const nn::Parameters& parameters,
                                       const norm::Scheme& scheme);

/// The measure gain_drift, |gain - initial gain| of each norm. Its parts are "NORM mean" and "NORM
/// max", where NORM is the prefix of the norm's tensors.
/// \param planned  steps of the learning-rate schedule (T): initial values may depend on it
std::vector<LayerProfile> gain_drifts(const nn::Parameters& parameters, const norm::Scheme& scheme,
                                      std::int64_t planned);

/// A copy of the master weights of all parameters.
class ParameterSnapshot {
 public:
  explicit ParameterSnapshot(const nn::Parameters& parameters);

  /// The measure update_ratio of each parameter: |w_now - w_snapshot| / |w_snapshot| in L2 norms;
  /// NaN if the snapshot is zero.
  std::vector<LayerProfile> update_ratios(const nn::Parameters& now,
                                          const norm::Scheme& scheme) const;

 private:
  std::vector<at::Tensor> masters_;  // one flat buffer per parameter group
};

}  // namespace evenkeel::probe
