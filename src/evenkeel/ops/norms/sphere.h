// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Residual updates on a sphere in place of the residual sum. Computed in float64 (on CUDA float32,
/// unless rows are float64) and rounded once. Gradients of parameters are summed over rows in the
/// order of kernels/reduction_order.h.
namespace evenkeel::ops {

/// The nGPT update:
///   y = unit(u + step * (v - u)),  u = unit(start), v = unit(towards), unit(x) = x / max(|x|,
///   1e-12)
///
/// \param start, towards  [..., D] of one shape and dtype; float32, bfloat16 or float64
/// \param step           [D] or [1], float64
/// \return y, of their shape and dtype; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Loshchilov et al. 2024, arXiv:2410.01131, eq. 10
at::Tensor sphere_step(const at::Tensor& start, const at::Tensor& towards, const at::Tensor& step);

/// The GeoNorm update: a step from x along the sphere through x, in the direction of t, the part of
/// g that is orthogonal to x:
///
///   y = x cos(a) + |x| t / |t| sin(a),  a = min(decay (scale min(|t| / |x|, pi/4) + bias), pi/4),
///
/// and y = x + g for a zero row x.
///
/// \param x, g         [..., D] of one shape and dtype; float32, bfloat16 or float64
/// \param scale, bias  [1], float64
/// \param decay        factor of the angle, equal for all rows
/// \return y, of their shape and dtype; differentiable once with respect to all four
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source arXiv:2601.22095 (GeoNorm)
at::Tensor geodesic_step(const at::Tensor& x, const at::Tensor& g, const at::Tensor& scale,
                         const at::Tensor& bias, double decay);

}  // namespace evenkeel::ops
