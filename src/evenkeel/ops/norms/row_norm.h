// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::ops {

/// The place of epsilon in the denominator: sqrt(s + e), sqrt(s) + e, max(sqrt(s), e).
enum class EpsilonAt { inside, outside, clamp };

/// Options of row_norm().
struct RowNormOptions {
  std::int64_t groups = 1;  // contiguous groups of a row, each normalized separately (GroupNorm)
  bool centred = false;     // subtract the mean first
  double partial = 1;       // the statistic is over the first max(1, int(partial * D)) values
                            // (pRMSNorm); 1 if centred
  bool length = false;      // the L2 norm (ScaleNorm), else the root mean square
  double epsilon = 1e-5;    // at epsilon_at
  EpsilonAt epsilon_at = EpsilonAt::inside;
  bool absmax8 = false;  // first divide x by max|x| / 8 (detached)
};

/// All other norms over the last dimension: GroupNorm, pRMSNorm, L2 norm (ScaleNorm), and norms
/// with epsilon outside the root. RMSNorm and LayerNorm have rms_norm() and layer_norm().
///
///   y = gain * (x - mean) / denominator + bias,   s = sum or mean of (x - mean)^2,
///   denominator = sqrt(s + e), sqrt(s) + e or max(sqrt(s), e)
///
/// Computed in float64 (on CUDA float32, unless x is float64) and rounded once, to the dtype of x.
/// Unlike in rms_norm(), squares of float64 values above 1e154 overflow on the CPU. The gradients
/// of gain and bias are summed over the rows in the order of kernels/reduction_order.h.
///
/// \param x           [..., W], W = groups * D; float32, bfloat16 or float64
/// \param gain, bias  [W], or [1] for all features; float64 if x is float64, else
///                    float32; nullopt: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhang and Sennrich 2019, arXiv:1910.07467 (partial); Nguyen and Salazar 2019,
///         arXiv:1910.05895 (ScaleNorm); Wu and He 2018, arXiv:1803.08494 (groups)
at::Tensor row_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                    const std::optional<at::Tensor>& bias, const RowNormOptions& options);

}  // namespace evenkeel::ops
