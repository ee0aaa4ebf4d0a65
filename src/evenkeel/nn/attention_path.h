// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// Implementations of softmax(q k^T) v. Their results are equal up to rounding.
///   automatic        ops::causal_attention() on the CPU, else `flash`
///   flash            LibTorch's flash attention if can_use_flash(), else `explicit_scores`
///   explicit_scores  materialized scores, [B, h, T, S]
enum class AttentionPath { automatic, flash, explicit_scores };

}  // namespace evenkeel::nn
