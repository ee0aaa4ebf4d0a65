// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "evenkeel/ops/adamw.h"

/// Every operator once more, as its formula in plain tensor operations. These say what the fused
/// kernels must compute: the tests compare values and gradients with them, and
/// `kernels.fused = false` runs them instead. They keep the rounding and the range of ordinary
/// tensor operations, so they are exact only in a wider dtype than the rows.
namespace evenkeel::ops::reference {

/// The dtype of a norm's gain, bias and statistics beside rows of dtype `rows`.
inline at::ScalarType wide(at::ScalarType rows) {
  return rows == at::kDouble ? at::kDouble : at::kFloat;
}

inline at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                           double epsilon = 1e-5) {
  const auto row = x.to(wide(x.scalar_type()));
  const auto y = row * at::rsqrt(row.square().mean(-1, /*keepdim=*/true) + epsilon);
  return (gain ? y * *gain : y).to(x.scalar_type());
}

inline std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual,
                                                       const at::Tensor& branch,
                                                       const std::optional<at::Tensor>& gain,
                                                       double epsilon = 1e-5) {
  const auto sum = residual + branch;
  return {sum, rms_norm(sum, gain, epsilon)};
}

inline at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                             const std::optional<at::Tensor>& bias, double epsilon = 1e-5) {
  const auto row = x.to(wide(x.scalar_type()));
  const auto centred = row - row.mean(-1, /*keepdim=*/true);
  auto y = centred * at::rsqrt(centred.square().mean(-1, /*keepdim=*/true) + epsilon);
  if (gain) y = y * *gain;
  if (bias) y = y + *bias;
  return y.to(x.scalar_type());
}

inline void adamw_(const AdamwBuffers& at, const AdamwStep& by) {
  const auto g = at.gradient.to(at.weight.scalar_type()) * by.gradient_scale;
  at.weight.mul_(1 - by.lr * by.weight_decay);
  at.first.mul_(by.beta1).add_(g, 1 - by.beta1);
  at.second.mul_(by.beta2).addcmul_(g, g, 1 - by.beta2);
  const auto steps = static_cast<double>(by.step);
  const auto mean = at.first / (1 - std::pow(by.beta1, steps));
  const auto mean_square = at.second / (1 - std::pow(by.beta2, steps));
  at.weight.sub_(by.lr * mean / (mean_square.sqrt() + by.epsilon));
  if (at.copy) at.copy->copy_(at.weight);
}

inline double sum_of_squares(const at::Tensor& x) {
  return x.to(at::kDouble).square().sum().item<double>();
}

}  // namespace evenkeel::ops::reference
