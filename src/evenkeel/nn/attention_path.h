// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// Which code computes softmax(q k^T) v. The results agree to rounding.
///   automatic        on the CPU ops::causal_attention(), elsewhere as `flash`
///   flash            LibTorch's, where can_use_flash(); else as `explicit_scores`
///   explicit_scores  materialized scores, [B, h, T, S]
enum class AttentionPath { automatic, flash, explicit_scores };

}  // namespace evenkeel::nn
