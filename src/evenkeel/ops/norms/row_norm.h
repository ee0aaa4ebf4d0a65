// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::ops {

/// Where epsilon enters the denominator: under the root, added to it, or as its lower bound.
enum class EpsilonAt { inside, outside, clamp };

/// How a row is divided by what it measures.
struct RowNormOptions {
  std::int64_t groups = 1;  // equal runs of a row, each divided by its own
  bool centred = false;     // x - mean(x) is divided, else x
  double partial = 1;       // measured are the first max(1, int(partial * D)) values; 1 if centred
  bool length = false;      // the root of the sum of their squares, else of their mean
  double epsilon = 1e-5;    // beside a mean square (inside), a root (outside), or its least value
  EpsilonAt epsilon_at = EpsilonAt::inside;
  bool absmax8 = false;  // as of x over an eighth of its largest magnitude, a constant to the
                         // gradient
};

/// All norms of rows in one form, where rms_norm() and layer_norm() do not fit: a part of the row
/// measured, lengths, epsilon outside of the root, groups, heads with gains of their own.
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
///                    else float32; none means ones, and zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhang and Sennrich 2019, arXiv:1910.07467 (partial); Nguyen and Salazar 2019,
///         arXiv:1910.05895 (lengths); Wu and He 2018, arXiv:1803.08494 (groups)
at::Tensor row_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                    const std::optional<at::Tensor>& bias, const RowNormOptions& options);

}  // namespace evenkeel::ops
