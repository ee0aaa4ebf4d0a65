// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::kernels {

/// The coefficients of one AdamW step, equal for all weights. All kernels compute
///
///   g      = gradient_scale * gradient
///   first  = first + (1 - beta1) * (g - first)
///   second = beta2 * second + (1 - beta2) * g^2
///   weight = decay * weight - step_size * first / (root_scale * sqrt(second) + epsilon)
struct AdamwFactors {
  double gradient_scale;
  double beta1;
  double beta2;
  double decay;       // 1 - lr * weight_decay
  double step_size;   // lr / (1 - beta1^step)
  double root_scale;  // 1 / sqrt(1 - beta2^step)
  double epsilon;
};

}  // namespace evenkeel::kernels
