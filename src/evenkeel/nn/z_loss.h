// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::nn {

/// The z-loss of the logits (PaLM, arXiv:2204.02311, section 5): for each target, the loss sum of a
/// pass contains coefficient * lse^2 in addition to -ln p, lse = ln sum_v e^logit[v].
struct ZLoss {
  double coefficient = 0;    // >= 0
  at::Tensor cross_entropy;  // output: the sum of -ln p, [], without a gradient
  at::Tensor squared_lse;    // output: the sum of lse^2, [], without a gradient
};

}  // namespace evenkeel::nn
