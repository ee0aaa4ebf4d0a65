// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/train/health/health_event.h"

/// Finding the layer and the tensor that cause a bad step. It may cost as much as the step.
namespace evenkeel::train {

/// L2 norms of one parameter and of its gradient.
struct L2Norms {
  double weight = 0, gradient = 0;
};
using L2NormsByName = std::map<std::string, L2Norms>;

/// The last step that was healthy: what a spike is compared with.
struct Baseline {
  L2NormsByName norms;
  double loss = 0;
};

/// \param gradients  a flat buffer a group
L2NormsByName l2_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients);

/// Where a number that is not finite first came from: a weight, else the first activation of the
/// forward pass, else the first gradient of the backward pass.
HealthEvent origin_of_nonfinite(const nn::Model& model, const nn::Parameters& parameters,
                                const std::vector<at::Tensor>& gradients, const data::Batch& batch);

/// Which tensor changed most since the baseline: a weight that jumped, else the gradient that grew
/// most; with the sequences of the batch whose loss is an outlier.
/// \param baseline  norms may be empty
HealthEvent origin_of_spike(const nn::Model& model, const nn::Parameters& parameters,
                            const std::vector<at::Tensor>& gradients, const data::Batch& batch,
                            std::int64_t first_sequence, const Baseline& baseline);

}  // namespace evenkeel::train
