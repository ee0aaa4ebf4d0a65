// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/shard_layout.h"

namespace evenkeel::optim {

/// The weight decay of parameters of a role: optimizer.weight_decay for matrices and routers;
/// optimizer.decay_gains and optimizer.decay_embedding add the other roles.
double weight_decay_of(const config::Optimizer& options, nn::ParameterRole role);

/// AdamW over the flat parameter groups of a model. For each value w with the gradient g:
///
///   g = scale * g
///   m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g^2
///   w = w - rate * (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + decay * w)
///
/// with the decay of weight_decay_of(). The bfloat16 copy of a weight is rounded in the same pass
/// (ops::adamw_()).
/// \source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
class AdamW {
 public:
  /// The moments start at 0, in the dtype of the masters.
  /// \param parameters  updated in place; it must outlive the optimizer
  /// \param owned       the values of each group that this optimizer updates and has moments of, in
  ///                    the order of Parameters::groups(); empty: all values
  AdamW(const config::Optimizer& options, nn::Parameters& parameters,
        std::vector<nn::FlatRange> owned = {});

  /// Updates every owned master and its copy.
  /// \param gradients  [n] of each group, in the order of Parameters::groups(); only the owned
  /// values
  ///                   are read
  /// \param scale      factor of every gradient: clip_scale()
  /// \param rate       learning rate
  /// \param step       number of this update, from 1; skipped steps do not count
  void update(const std::vector<at::Tensor>& gradients, double scale, double rate,
              std::int64_t step);

  /// The values of each group that this optimizer updates.
  const std::vector<nn::FlatRange>& owned() const { return owned_; }
  /// First moments m of the owned values of each group, in the order of Parameters::groups().
  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  /// Second moments v, as first_moments().
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }

 private:
  config::Optimizer options_;
  nn::Parameters* parameters_;
  std::vector<nn::FlatRange> owned_;
  std::vector<at::Tensor> first_moments_, second_moments_;
};

/// The Euclidean norm of all gradients together, summed in double in a fixed order. It is NaN or
/// infinite if a gradient is.
double gradient_norm(const std::vector<at::Tensor>& gradients);

/// The same norm, bit for bit, of gradients that are known by the squares of their blocks.
/// \param squares  ops::block_squares() of each group, of all its blocks
double gradient_norm(const std::vector<std::vector<double>>& squares);

/// The factor that limits the gradient norm: min(1, clip / (norm + 1e-6)), as
/// torch.nn.utils.clip_grad_norm_().
/// \param clip  max gradient norm; 0: no limit, the factor is 1
/// \source the published trainer of arXiv:2503.04598
double clip_scale(double norm, double clip);

}  // namespace evenkeel::optim
