// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <tuple>

#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/optim/adamw.h"

/// Reference implementations (unfused): each operator in plain tensor operations. The tests compare
/// values and gradients of the fused kernels with them. nn::NormLayer runs those of norms that have
/// no fused operator, and all of them under `kernels.fused = false`.
///
/// Norms are computed in float64, which covers the whole range of float32 rows. For float64 rows,
/// values above 1e154 overflow in the sum of squares, unlike in ops::rms_norm and ops::layer_norm.
namespace evenkeel::ops::reference {

/// The square root, with derivative 0 at 0, so that a row of zeros has a finite gradient.
inline at::Tensor root(const at::Tensor& square) {
  const auto positive = square > 0;
  return at::where(positive, at::where(positive, square, 1.0).sqrt(), 0.0);
}

/// 1 / denominator, for s = square:
///   inside 1/sqrt(s + e), outside 1/(sqrt(s) + e), clamp 1/max(sqrt(s), e)
inline at::Tensor inverse_root(const at::Tensor& square, double epsilon, EpsilonAt at) {
  switch (at) {
    case EpsilonAt::inside:
      return at::rsqrt(square + epsilon);
    case EpsilonAt::outside:
      return (root(square) + epsilon).reciprocal();
    case EpsilonAt::clamp:
      break;
  }
  return root(square).clamp_min(epsilon).reciprocal();
}

/// Rows divided by their root mean square over the first max(1, int(partial D)) values:
///   x / sqrt(mean(x^2) + e), or another denominator of inverse_root()
/// \param x  [..., D]
/// \return [..., D], float64
/// \source Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4; `partial` is its pRMSNorm
inline at::Tensor rms_rows(const at::Tensor& x, double epsilon, EpsilonAt at = EpsilonAt::inside,
                           double partial = 1) {
  const auto row = x.to(at::kDouble);
  const auto part = static_cast<std::int64_t>(partial * static_cast<double>(x.size(-1)));
  const auto measured = row.narrow(-1, 0, std::max<std::int64_t>(1, part));
  return row * inverse_root(measured.square().mean(-1, /*keepdim=*/true), epsilon, at);
}

/// Rows minus their first value, which centering removes again: a constant float64 row then gives
/// exactly 0. The shift is detached.
inline at::Tensor from_first(const at::Tensor& row) {
  return row.numel() == 0 ? row : row - row.narrow(-1, 0, 1).detach();
}

/// DetachNorm: layer_rows() with statistics through which no gradient flows.
///   detached mean:      dx has no -mean(g / std)
///   detached variance:  dx has no -x_hat mean(g x_hat) / std
/// \source Xu et al. 2019, arXiv:1911.07013
inline at::Tensor detached_rows(const at::Tensor& x, bool detach_mean, bool detach_variance,
                                double epsilon, EpsilonAt at = EpsilonAt::inside) {
  const auto row = from_first(x.to(at::kDouble));
  const auto mean = row.mean(-1, /*keepdim=*/true);
  const auto centred = row - (detach_mean ? mean.detach() : mean);
  const auto inverse = inverse_root(centred.square().mean(-1, /*keepdim=*/true), epsilon, at);
  return centred * (detach_variance ? inverse.detach() : inverse);
}

/// Centered rows divided by their standard deviation:
///   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + e), or another denominator of inverse_root()
/// \source Ba, Kiros and Hinton 2016, arXiv:1607.06450, eq. 4
inline at::Tensor layer_rows(const at::Tensor& x, double epsilon,
                             EpsilonAt at = EpsilonAt::inside) {
  return detached_rows(x, /*detach_mean=*/false, /*detach_variance=*/false, epsilon, at);
}

/// Rows divided by their L2 norm, for l2 and scale_norm:
///   x / max(|x|, e), or another denominator of inverse_root() with s = |x|^2
/// \source Nguyen and Salazar 2019, arXiv:1910.05895 (scale_norm)
inline at::Tensor unit_rows(const at::Tensor& x, double epsilon, EpsilonAt at = EpsilonAt::clamp) {
  const auto row = x.to(at::kDouble);
  return row * inverse_root(row.square().sum(-1, /*keepdim=*/true), epsilon, at);
}

/// unit(u + step (v - u)),  u = unit(start), v = unit(towards)
/// \param step  [D] or [1], in double
/// \source Loshchilov et al. 2024, arXiv:2410.01131, eq. 10
inline at::Tensor sphere_step(const at::Tensor& start, const at::Tensor& towards,
                              const at::Tensor& step) {
  constexpr double kTiny = 1e-12;
  const auto u = unit_rows(start, kTiny);
  return unit_rows(u + step * (unit_rows(towards, kTiny) - u), kTiny);
}

/// A step from x along the sphere through x, towards the part of g that is orthogonal to x; x + g
/// for a zero row. ops/norms/sphere.h has the equation.
/// \param scale, bias  [1], in double
/// \source arXiv:2601.22095 (GeoNorm)
inline at::Tensor geodesic_step(const at::Tensor& x, const at::Tensor& g, const at::Tensor& scale,
                                const at::Tensor& bias, double decay) {
  constexpr double kMost = std::numbers::pi / 4;
  const auto from = x.to(at::kDouble), pull = g.to(at::kDouble);
  const auto dot = [](const at::Tensor& a, const at::Tensor& b) {
    return (a * b).sum(-1, /*keepdim=*/true);
  };
  const auto squares = dot(from, from);
  const auto defined = squares != 0;  // NaN stays NaN
  const auto tangent = pull - dot(from, pull) / at::where(defined, squares, 1.0) * from;
  const auto length = root(squares), speed = root(dot(tangent, tangent));
  const auto slope = (speed / at::where(defined, length, 1.0)).clamp_max(kMost);
  const auto angle = ((slope * scale + bias) * decay).clamp_max(kMost);
  const auto direction = tangent / at::where(speed > 0, speed, 1.0);
  const auto moved = from * angle.cos() + direction * length * angle.sin();
  return at::where(defined, moved, from + pull);
}

/// GroupNorm: layer_rows() of each of `groups` contiguous groups of features.
/// \source Wu and He 2018, arXiv:1803.08494, eq. 1-3, for a single position
inline at::Tensor group_rows(const at::Tensor& x, std::int64_t groups, double epsilon,
                             EpsilonAt at = EpsilonAt::inside) {
  return layer_rows(x.unflatten(-1, {groups, -1}), epsilon, at).flatten(-2);
}

/// InstanceNorm: layer_rows() of each feature over the positions of one sequence.
/// \param x  [B, T, D]
/// \source Ulyanov, Vedaldi and Lempitsky 2016, arXiv:1607.08022, eq. 3
inline at::Tensor instance_rows(const at::Tensor& x, double epsilon,
                                EpsilonAt at = EpsilonAt::inside) {
  return layer_rows(x.transpose(-1, -2), epsilon, at).transpose(-1, -2).contiguous();
}

/// BatchNorm: layer_rows() of each feature over all rows.
/// \param x  [n, D]
/// \source Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1
inline at::Tensor batch_rows(const at::Tensor& x, double epsilon) {
  return layer_rows(x.t().contiguous(), epsilon).t().contiguous();
}

/// Mean and biased variance of each feature over all rows, [D] each, float64.
struct BatchMoments {
  at::Tensor mean, variance;
};
inline BatchMoments batch_moments(const at::Tensor& x) {
  const auto columns = x.to(at::kDouble).t().contiguous();
  const auto apart = from_first(columns);
  const auto mean = apart.mean(-1, /*keepdim=*/true);
  return {columns.select(-1, 0) + mean.squeeze(-1), (apart - mean).square().mean(-1)};
}

/// tanh(alpha x), float64.
/// \param alpha  [1]
/// \source Zhu et al. 2025, arXiv:2503.10622, eq. 1 (DyT)
inline at::Tensor dyt_rows(const at::Tensor& x, const at::Tensor& alpha) {
  return at::tanh(alpha * x.to(at::kDouble));
}

/// erf(alpha x + shift), float64.
/// \param alpha, shift  [1]
/// \source arXiv:2512.10938 (Derf)
inline at::Tensor derf_rows(const at::Tensor& x, const at::Tensor& alpha, const at::Tensor& shift) {
  return at::erf(alpha * x.to(at::kDouble) + shift);
}

/// The row-dependent term of seed_norm:
///   alpha tanh(x . beta) x_hat,  x_hat = rms_rows(x)
/// \param alpha, beta  [D]
/// \source arXiv:2510.22777 (SeeDNorm)
inline at::Tensor seed_rows(const at::Tensor& x, const at::Tensor& x_hat, const at::Tensor& alpha,
                            const at::Tensor& beta) {
  return alpha * at::tanh((beta * x.to(at::kDouble)).sum(-1, /*keepdim=*/true)) * x_hat;
}

/// Weight normalization: row j = row_gain_j v_j / |v_j|; a zero row stays zero.
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2
inline at::Tensor weight_norm_rows(const at::Tensor& v, const at::Tensor& row_gain) {
  const auto length = root(v.square().sum(-1, /*keepdim=*/true));
  return row_gain.unsqueeze(-1) * v / at::where(length > 0, length, 1.0);
}

/// (gamma / sigma) V, sigma = left . V right; gamma V if sigma is 0.
/// \source Zhai et al. 2023, arXiv:2303.06296
inline at::Tensor sigma_rows(const at::Tensor& v, const at::Tensor& gamma, const at::Tensor& left,
                             const at::Tensor& right) {
  const auto sigma = (left * (v * right).sum(-1)).sum();
  return gamma / at::where(sigma == 0, 1.0, sigma) * v;
}

/// gain * rows + bias, rounded to `dtype`.
inline at::Tensor affine(at::Tensor rows, const std::optional<at::Tensor>& gain,
                         const std::optional<at::Tensor>& bias, at::ScalarType dtype) {
  if (gain) rows = rows * *gain;
  if (bias) rows = rows + *bias;
  return rows.to(dtype);
}

inline at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                           double epsilon = 1e-5) {
  return affine(rms_rows(x, epsilon), gain, std::nullopt, x.scalar_type());
}

inline std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual,
                                                       const at::Tensor& branch,
                                                       const std::optional<at::Tensor>& gain,
                                                       double epsilon = 1e-5) {
  const auto sum = residual + branch;
  return {sum, rms_norm(sum, gain, epsilon)};
}

inline at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                             const std::optional<at::Tensor>& bias, double epsilon = 1e-5) {
  return affine(layer_rows(x, epsilon), gain, bias, x.scalar_type());
}

/// up * silu(gate); up and gate are the halves of the last dimension.
inline at::Tensor swiglu(const at::Tensor& up_gate) {
  const auto halves = up_gate.chunk(2, -1);
  return at::silu(halves[1]) * halves[0];
}

/// The sum of -ln softmax(logits)[target]; targets < 0 are ignored.
/// \param logits  [n, V]; targets  [n]
inline at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets) {
  const auto place = targets.clamp_min(0).unsqueeze(-1);
  const auto losses = -at::log_softmax(logits, -1).gather(-1, place).squeeze(-1);
  return at::where(targets >= 0, losses, 0.0).sum().to(logits.scalar_type());
}

/// The sum of lse^2 over the targets >= 0, lse = ln sum_v e^logits[v].
/// \param logits  [n, V]; targets  [n]
inline at::Tensor squared_lse_sum(const at::Tensor& logits, const at::Tensor& targets) {
  const auto squares = at::logsumexp(logits, -1).square();
  return at::where(targets >= 0, squares, 0.0).sum().to(logits.scalar_type());
}

inline void adamw_(const AdamwBuffers& buffers, const AdamwStep& step) {
  if (step.take_over) {
    const auto is_old = buffers.weight.to(at::kBFloat16) == *buffers.copy;
    buffers.weight.copy_(
        at::where(is_old, buffers.weight, buffers.copy->to(buffers.weight.scalar_type())));
  }
  const auto g = buffers.gradient.to(buffers.weight.scalar_type()) * step.gradient_scale;
  buffers.weight.mul_(1 - step.lr * step.weight_decay);
  buffers.first.mul_(step.beta1).add_(g, 1 - step.beta1);
  buffers.second.mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
  const auto steps = static_cast<double>(step.step);
  const auto mean = buffers.first / (1 - std::pow(step.beta1, steps));
  const auto mean_square = buffers.second / (1 - std::pow(step.beta2, steps));
  buffers.weight.sub_(step.lr * mean / (mean_square.sqrt() + step.epsilon));
  if (buffers.copy) buffers.copy->copy_(buffers.weight);
}

inline double sum_of_squares(const at::Tensor& x) {
  return x.to(at::kDouble).square().sum().item<double>();
}

}  // namespace evenkeel::ops::reference
