// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::nn {

/// The arguments of causal attention, softmax(cap(scale * q k^T)) v. B sequences, T queries and
/// S >= T keys of h query heads and kv key heads; query head i reads key head i div (h / kv). All
/// three tensors have one dtype: float32, bfloat16 or float64.
struct AttentionInputs {
  at::Tensor q;                   // [B, h, T, dk], normalized, rotated, times a learned scale
  at::Tensor k;                   // [B, kv, S, dk], normalized and rotated
  at::Tensor v;                   // [B, kv, S, dk]
  double scale = 1;               // factor of q . k; 1 if a learned scale is already in q
  std::optional<double> softcap;  // c: scores become c tanh(score / c); nullopt: no cap
  at::Tensor document_starts;     // [B, T], int32: first visible position of a query; undefined: 0
};

}  // namespace evenkeel::nn
