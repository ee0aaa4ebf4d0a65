// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Bounded functions with their slopes, in float or double. A NaN gives NaN.
namespace evenkeel::kernels::cuda {

template <typename F>
struct ValueAndSlope {
  F value, slope;
};

/// The slope is 4 e / (1 + e)^2 with e = exp(-2 |x|), which keeps its digits where tanh is near 1.
template <typename F>
__device__ ValueAndSlope<F> tanh_with_slope(F x) {
  const F e = exp(-2 * fabs(x));
  return {tanh(x), 4 * e / ((1 + e) * (1 + e))};
}

template <typename F>
__device__ ValueAndSlope<F> erf_with_slope(F x) {
  constexpr F kTwoOverRootPi = static_cast<F>(1.1283791670955126);
  return {erf(x), kTwoOverRootPi * exp(-x * x)};
}

}  // namespace evenkeel::kernels::cuda
