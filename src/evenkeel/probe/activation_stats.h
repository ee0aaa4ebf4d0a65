// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Statistics of a residual stream x [B, T, D]. Computed in float64, without gradients.
namespace evenkeel::probe {

/// A weighted mean of values that arrive one by one: sum_i w_i v_i / sum_i w_i.
struct WeightedMean {
  double sum = 0, weight = 0;

  /// Adds a value v with the weight w.
  void add(double v, double w) {
    sum += v * w;
    weight += w;
  }

  /// The mean; NaN without values.
  double value() const { return sum / weight; }
};

/// max(a, b); NaN if one of them is NaN.
double max_or_nan(double a, double b);

/// mean(x^2); stream_rms is its root.
double mean_square(const at::Tensor& x);

/// max |x|
double max_abs(const at::Tensor& x);

/// Kurtosis m4 / m2^2 of the features of a token, with central moments m; mean over tokens. A token
/// whose features are all equal counts as 0.
double kurtosis(const at::Tensor& x);

/// The share of entries with |x| > 6 rms(token).
double outlier_share(const at::Tensor& x);

/// Mean of cos(x_i, x_j) over all pairs i < j of positions of a sequence, and over the batch. A
/// token of zeros has cosine 0 with every token. NaN for one position.
double token_cosine(const at::Tensor& x);

/// arccos(cos(x, y)) / pi, mean over tokens. \param x, y  [B, T, D]
double angle(const at::Tensor& x, const at::Tensor& y);

/// Effective rank exp(-sum_i p_i ln p_i), where p_i = sigma_i / sum_j sigma_j are the normalized
/// singular values of the centred matrix of all tokens, [tokens, D]. Tokens are added in pieces:
/// the state has D^2 + D numbers.
/// \source Roy and Vetterli 2007, "The effective rank"
class EffectiveRank {
 public:
  /// Adds tokens. \param x  [B, T, D]
  void add(const at::Tensor& x);

  /// The effective rank of all tokens so far; NaN if one of them is not finite, 0 if all are equal.
  double value() const;

 private:
  at::Tensor gram_;  // [D, D], float64: X^T X
  at::Tensor sum_;   // [D], float64: column sums of X
  std::int64_t rows_ = 0;
};

}  // namespace evenkeel::probe
