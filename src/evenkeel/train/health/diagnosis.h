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

/// Diagnosis of a bad step: the layer and the tensor that cause it. It may take as long as the
/// step.
namespace evenkeel::train {

/// L2 norms of one parameter and of its gradient.
struct L2Norms {
  double weight = 0, gradient = 0;
};
using L2NormsByName = std::map<std::string, L2Norms>;

/// The last healthy step: a spike is compared with it.
struct Baseline {
  L2NormsByName norms;  // at the last health check; may be empty
  double loss = 0;      // nats a token
};

/// L2 norms of all parameters.
/// \param gradients  one flat buffer a parameter group
L2NormsByName l2_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients);

/// The origin of a NaN or an infinity: a weight, else the first activation of the forward pass,
/// else the first gradient of the backward pass.
/// \return an event without kind and observation
HealthEvent origin_of_nonfinite(const nn::Model& model, const nn::Parameters& parameters,
                                const std::vector<at::Tensor>& gradients, const data::Batch& batch);

/// The tensor that changed most since the baseline: a weight whose L2 norm more than doubled, else
/// the gradient that grew most; with the sequences of the batch whose loss is an outlier.
/// \param first_sequence  number of the batch's first sequence in the run
/// \return an event without kind and observation
HealthEvent origin_of_spike(const nn::Model& model, const nn::Parameters& parameters,
                            const std::vector<at::Tensor>& gradients, const data::Batch& batch,
                            std::int64_t first_sequence, const Baseline& baseline);

}  // namespace evenkeel::train
