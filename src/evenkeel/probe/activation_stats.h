// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Statistics of a residual stream x [B, T, D], in float64 and without gradients.
namespace evenkeel::probe {

/// An incremental weighted mean: sum_i w_i v_i / sum_i w_i.
struct WeightedMean {
  double sum = 0, weight = 0;

  /// Adds a value v with weight w.
  void add(double v, double w) {
    sum += v * w;
    weight += w;
  }

  /// The mean; NaN without values.
  double value() const { return sum / weight; }
};

/// max(a, b); NaN if a or b is NaN.
double max_or_nan(double a, double b);

/// mean(x^2); the measure stream_rms is its square root.
double mean_square(const at::Tensor& x);

/// max |x|
double max_abs(const at::Tensor& x);

/// Kurtosis m4 / m2^2 over the features of a token, with central moments m_k; mean over all tokens.
/// It is 0 for a token with equal features.
double kurtosis(const at::Tensor& x);

/// The fraction of entries with |x| > 6 rms(token).
double outlier_share(const at::Tensor& x);

/// |mean of a token| / rms(token), mean over all tokens; 0 for a token of zeros. Of independent
/// normal features it is sqrt(2 / (pi D)).
double token_mean(const at::Tensor& x);

/// The mean of cos(x_i, x_j) over all pairs of positions i < j of a sequence, and over the batch.
/// The cosine with a token of zeros is 0. NaN for T = 1.
double token_cosine(const at::Tensor& x);

/// The mean of arccos(cos(x, y)) / pi over all tokens. \param x, y  [B, T, D]
double angle(const at::Tensor& x, const at::Tensor& y);

/// The effective rank exp(-sum_i p_i ln p_i) of the centered matrix of all tokens [tokens, D], with
/// its normalized singular values p_i = sigma_i / sum_j sigma_j. The computation is incremental;
/// the state has D^2 + D numbers.
/// \source Roy and Vetterli 2007, "The effective rank"
class EffectiveRank {
 public:
  /// Adds tokens. \param x  [B, T, D]
  void add(const at::Tensor& x);

  /// The effective rank of all tokens so far; NaN if a token is not finite, 0 if all tokens are
  /// equal.
  double value() const;

 private:
  at::Tensor gram_;  // [D, D], float64: X^T X
  at::Tensor sum_;   // [D], float64: column sums of X
  std::int64_t rows_ = 0;
};

}  // namespace evenkeel::probe
