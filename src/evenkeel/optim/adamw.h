// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/parameters.h"

namespace evenkeel::optim {

/// AdamW with decoupled weight decay and gradient clipping, fused: one pass per parameter group.
/// \source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
class AdamW {
 public:
  AdamW(const config::Optimizer& options, nn::Parameters& parameters);

  /// One update of all parameters.
  /// \param gradients  one flat tensor per group, in the order of Parameters::groups()
  /// \param scale      factor on every gradient: clip_scale()
  /// \param rate       learning rate
  /// \param step       number of this update, from 1, without skipped steps
  void update(const std::vector<at::Tensor>& gradients, double scale, double rate,
              std::int64_t step);

  /// First and second moments: one flat tensor per group, in the order of Parameters::groups().
  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }

 private:
  double decay_of(nn::ParameterRole role) const;

  config::Optimizer options_;
  nn::Parameters* parameters_;
  std::vector<at::Tensor> first_moments_, second_moments_;
};

/// The global L2 norm of all gradients; NaN or infinite if a gradient is.
double gradient_norm(const std::vector<at::Tensor>& gradients);

/// The clipping factor min(1, clip / (norm + 1e-6)); 1 if clip is 0 (no clipping).
/// \source the published trainer of arXiv:2503.04598
double clip_scale(double norm, double clip);

}  // namespace evenkeel::optim
