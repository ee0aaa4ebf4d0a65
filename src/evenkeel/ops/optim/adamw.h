// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::ops {

/// The tensors of one AdamW step: flat, contiguous, of equal length N, on one device. torch.optim
/// names: first is exp_avg, second is exp_avg_sq.
struct AdamwBuffers {
  at::Tensor weight;               // [N], float32 or float64; written
  at::Tensor first;                // [N], dtype of weight: moving mean of gradients; written
  at::Tensor second;               // [N], dtype of weight: moving mean of squares; written
  at::Tensor gradient;             // [N], float32, float64 or bfloat16
  std::optional<at::Tensor> copy;  // [N], bfloat16: the new weight, rounded; written
};

/// The hyperparameters of one AdamW step.
struct AdamwStep {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double gradient_scale = 1;  // factor of the gradient: clipping and loss scale
  std::int64_t step = 1;      // counts from 1
  /// Before the update, weight = copy where the bits of copy are not those of the rounded weight.
  bool take_over = false;
};

/// Adam with decoupled weight decay, in place, in one pass over memory.
///
///   g      = gradient_scale * gradient
///   weight = weight * (1 - lr * weight_decay)
///   first  = beta1 * first + (1 - beta1) * g
///   second = beta2 * second + (1 - beta2) * g^2
///   weight = weight - lr * (first / (1 - beta1^step)) / (sqrt(second / (1 - beta2^step)) +
///   epsilon)
///
/// Arithmetic runs in the dtype of weight. Not differentiable.
///
/// \throws c10::Error if shapes, dtypes or devices do not fit, step < 1, or take_over without copy
/// \source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
void adamw_(const AdamwBuffers& buffers, const AdamwStep& step);

}  // namespace evenkeel::ops
