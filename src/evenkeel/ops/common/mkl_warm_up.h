// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ops/exp.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sqrt.h>

namespace evenkeel::ops {

/// Makes the first call of Intel MKL, to be called before the first parallel region. MKL computes
/// exp, sqrt and others for LibTorch, and detects the CPU in its first call, without a lock. If
/// several threads make this call, one may get values with relative errors of 3e-11; this was
/// observed in one of 1,000 to 2,000 runs on a busy machine.
inline void warm_up_mkl() {
  for (const auto type : {at::kFloat, at::kDouble}) at::sqrt(at::exp(at::ones({16}, type)));
}

}  // namespace evenkeel::ops
