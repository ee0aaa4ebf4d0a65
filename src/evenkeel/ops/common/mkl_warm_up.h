// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ops/exp.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sqrt.h>

namespace evenkeel::ops {

/// Intel's MKL, which computes exp, sqrt and the like for LibTorch, detects the processor when the
/// first of these is called, without a lock: of threads that call at the same time one may get
/// values that are right to 3e-11 only, once in one or two thousand runs on a busy machine. One
/// thread alone must call it first. Call this before the first parallel region.
inline void warm_up_mkl() {
  for (const auto type : {at::kFloat, at::kDouble}) at::sqrt(at::exp(at::ones({16}, type)));
}

}  // namespace evenkeel::ops
