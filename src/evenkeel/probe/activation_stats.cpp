// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/activation_stats.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "evenkeel/ops/common/reference.h"

namespace evenkeel::probe {

namespace {

/// The mean of all entries. It reduces rows first, so the result does not depend on the threads.
double mean_of(const at::Tensor& x) {
  const auto rows = x.flatten(0, -2).sum(-1);
  return rows.sum().item<double>() / static_cast<double>(x.numel());
}

at::Tensor as_float64(const at::Tensor& x) {
  return x.detach().to(at::kDouble);
}

/// Rows divided by their L2 norms, in float64. Rows of zeros are unchanged.
at::Tensor unit_rows(const at::Tensor& x) {
  const auto rows = as_float64(x);
  const auto lengths = rows.square().sum(-1, /*keepdim=*/true).sqrt();
  return rows / at::where(lengths > 0, lengths, 1.0);
}

}  // namespace

double max_or_nan(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return a < b ? b : a;
}

double mean_square(const at::Tensor& x) {
  return mean_of(as_float64(x).square());
}

double max_abs(const at::Tensor& x) {
  return as_float64(x).abs().max().item<double>();
}

double kurtosis(const at::Tensor& x) {
  const auto rows = as_float64(x);
  const auto squares = (rows - rows.mean(-1, /*keepdim=*/true)).square();
  const auto second = squares.mean(-1).square();
  const auto fourth = squares.square().mean(-1);
  const auto ratio = at::where(second == 0, 0.0, fourth / second);
  return ratio.sum().item<double>() / static_cast<double>(ratio.numel());
}

double token_mean(const at::Tensor& x) {
  const auto rows = as_float64(x);
  const auto rms = rows.square().mean(-1).sqrt();
  const auto ratio = at::where(rms == 0, 0.0, rows.mean(-1).abs() / rms);
  return ratio.sum().item<double>() / static_cast<double>(ratio.numel());
}

double outlier_share(const at::Tensor& x) {
  constexpr double kFar = 6;
  const auto rows = as_float64(x);
  const auto rms = rows.square().mean(-1, /*keepdim=*/true).sqrt();
  if (!rms.isfinite().all().item<bool>()) return std::nan("");
  const auto count = (rows.abs() > rms * kFar).sum().item<std::int64_t>();
  return static_cast<double>(count) / static_cast<double>(x.numel());
}

// sum_{i < j} u_i . u_j = (|sum_i u_i|^2 - sum_i |u_i|^2) / 2, for the unit rows u of a sequence.
double token_cosine(const at::Tensor& x) {
  const auto unit = unit_rows(x);
  const auto squared_sums = unit.sum(1).square().sum(-1);      // [B]
  const auto sums_of_squares = unit.square().sum(-1).sum(-1);  // [B]
  const auto positions = static_cast<double>(x.size(1));
  const double pairs = positions * (positions - 1);
  return ((squared_sums - sums_of_squares) / pairs).mean().item<double>();
}

double angle(const at::Tensor& x, const at::Tensor& y) {
  const auto cosine = (unit_rows(x) * unit_rows(y)).sum(-1).clamp(-1, 1);
  return cosine.acos().mean().item<double>() / std::numbers::pi;
}

void EffectiveRank::add(const at::Tensor& x) {
  const auto rows = as_float64(x).flatten(0, -2);
  const auto gram = at::matmul(rows.t(), rows);
  gram_ = gram_.defined() ? gram_ + gram : gram;
  sum_ = sum_.defined() ? sum_ + rows.sum(0) : rows.sum(0);
  rows_ += rows.size(0);
}

double EffectiveRank::value() const {
  const auto mean = sum_ / static_cast<double>(rows_);
  const auto centred = gram_ - at::outer(sum_, mean);
  if (!centred.isfinite().all().item<bool>()) return std::nan("");
  // To subtract the mean leaves rounding errors of the size of the eigenvalues of the Gram matrix.
  constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon();
  const double noise =
      kRounding * static_cast<double>(gram_.size(0)) * gram_.trace().item<double>();
  const auto eigenvalues = at::linalg_eigvalsh(centred);
  const auto singular = at::where(eigenvalues > noise, eigenvalues, 0.0).sqrt();
  const double total = singular.sum().item<double>();
  if (total == 0) return 0;
  return std::exp(at::special_entr(singular / total).sum().item<double>());
}

}  // namespace evenkeel::probe
