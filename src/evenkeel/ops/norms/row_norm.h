// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::ops {

/// Where epsilon enters the denominator: under the root, added to it, or as its lower bound.
enum class EpsilonAt { inside, outside, clamp };

/// The statistic of row_norm(), and what is divided by it.
struct RowNormOptions {
  std::int64_t groups = 1;  // equal parts of a row, each with a statistic of its own (GroupNorm)
  bool centred = false;     // subtract the mean first
  double partial = 1;       // the statistic is over the first max(1, int(partial * D)) values
                            // (pRMSNorm); 1 if centred
  bool length = false;      // the L2 norm (ScaleNorm), else the root mean square
  double epsilon = 1e-5;    // at epsilon_at
  EpsilonAt epsilon_at = EpsilonAt::inside;
  bool absmax8 = false;  // first divide by an eighth of the largest magnitude, which is a constant
                         // to the gradient
};

/// Every norm of rows that is neither rms_norm() nor layer_norm(): group, partial and L2 norms, and
/// those with epsilon outside of the root.
///
///   y = gain * (x - mean) / denominator + bias,   s = sum or mean of (x - mean)^2,
///   denominator = sqrt(s + e), sqrt(s) + e or max(sqrt(s), e)
///
/// Computed in double and rounded once, to the dtype of x; squares of doubles beyond 1e154
/// overflow. The gradients of gain and bias are summed over the rows in the order of
/// kernels/reduction_order.h.
///
/// \param x           [..., W], W = groups * D; float32, bfloat16 or float64, on the CPU
/// \param gain, bias  [W], or [1] for one value of all features; float64 beside float64 rows and
///                    else float32; absent: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhang and Sennrich 2019, arXiv:1910.07467 (partial); Nguyen and Salazar 2019,
///         arXiv:1910.05895 (lengths); Wu and He 2018, arXiv:1803.08494 (groups)
at::Tensor row_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                    const std::optional<at::Tensor>& bias, const RowNormOptions& options);

}  // namespace evenkeel::ops
