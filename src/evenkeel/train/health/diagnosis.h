// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/train/health/health_event.h"

/// Diagnosis of a bad step: finds the layer and the tensor that cause it. May take as long as the
/// step.
namespace evenkeel::train {

/// The L2 norms of one parameter and of its gradient.
struct L2Norms {
  double weight = 0, gradient = 0;
};
using L2NormsByName = std::map<std::string, L2Norms>;

/// The reference for a spike: the last healthy step.
struct Baseline {
  L2NormsByName norms;  // at the last health check; empty before the first one
  double loss = 0;      // nats per token
};

/// The L2 norms of all parameters, as the forward pass reads them, and of their gradients, by name.
/// \param gradients  one flat buffer per parameter group
L2NormsByName l2_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients);

/// Finds the origin of a NaN or an infinity: a weight; else the first activation of the forward
/// pass; else the first gradient of the backward pass.
/// \return an event without `kind` and `observation`
HealthEvent origin_of_nonfinite(const nn::Model& model, const nn::Parameters& parameters,
                                const std::vector<at::Tensor>& gradients, const data::Batch& batch);

/// A batch of a run.
struct BatchOfRun {
  const data::Batch* batch = nullptr;
  std::int64_t first_sequence = 0;               // index of its first sequence in the run
  const data::TextEncoding* encoding = nullptr;  // decodes its tokens; nullptr: no text is shown
};

/// Finds the parameter that changed most since the baseline: a weight whose L2 norm more than
/// doubled, else the gradient whose norm grew most. Also lists the sequences of the batch with
/// outlier losses.
/// \return an event without `kind` and `observation`
HealthEvent origin_of_spike(const nn::Model& model, const nn::Parameters& parameters,
                            const std::vector<at::Tensor>& gradients, const BatchOfRun& where,
                            const Baseline& baseline);

}  // namespace evenkeel::train
