// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/parameters.h"

namespace evenkeel::optim {

/// AdamW over the flat groups of a model: decoupled decay, one pass a group, clipping folded in.
/// \source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
class AdamW {
 public:
  AdamW(const config::Optimizer& options, nn::Parameters& parameters);

  /// One update, `step` counted from 1 over updates that were really made.
  /// \param gradients  one flat tensor a group, as Parameters::groups() orders them
  /// \param scale      every gradient is multiplied by it (clipping)
  void update(const std::vector<at::Tensor>& gradients, double scale, double rate,
              std::int64_t step);

  /// First and second moments, in the order of Parameters::groups().
  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }

 private:
  double decay_of(nn::ParameterRole role) const;

  config::Optimizer options_;
  nn::Parameters* parameters_;
  std::vector<at::Tensor> first_moments_, second_moments_;
};

/// Euclidean norm over all gradients together; NaN or infinite if any of them is.
double gradient_norm(const std::vector<at::Tensor>& gradients);

/// min(1, clip / (norm + 1e-6)); 1 if clip is 0.
/// \source the published trainer of arXiv:2503.04598
double clip_scale(double norm, double clip);

}  // namespace evenkeel::optim
