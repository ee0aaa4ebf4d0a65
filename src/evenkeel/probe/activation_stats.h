// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Statistics of a residual stream x [B, T, d]. Without gradients, in float64.
namespace evenkeel::probe {

/// A weighted mean of values that arrive one by one.
struct WeightedMean {
  double sum = 0, weight = 0;

  void add(double value, double of) {
    sum += value * of;
    weight += of;
  }
  /// NaN of nothing.
  double value() const { return sum / weight; }
};

/// The maximum; NaN if one of them is.
double max_or_nan(double a, double b);

/// mean(x^2); stream_rms is its root.
double mean_square(const at::Tensor& x);

/// max |x|
double max_abs(const at::Tensor& x);

/// m4 / m2^2 of the features of a token, central moments; mean over tokens. A token whose features
/// are all equal has none and counts as 0.
double kurtosis(const at::Tensor& x);

/// The share of entries with |x| > 6 rms of their token.
double outlier_share(const at::Tensor& x);

/// cos(x_i, x_j), mean over the unordered pairs of positions of a sequence and over the batch; a
/// token of zeros has cosine 0 with every other. NaN for one position.
double token_cosine(const at::Tensor& x);

/// arccos(cos(x, y)) / pi, mean over tokens.
double angle(const at::Tensor& x, const at::Tensor& y);

/// exp of the entropy of the singular values of the centred matrix [all tokens, d]. Tokens are
/// added in pieces: the state is d * d.
/// \source Roy and Vetterli 2007, "The effective rank"
class EffectiveRank {
 public:
  void add(const at::Tensor& x);
  double value() const;

 private:
  at::Tensor gram_, sum_;  // X^T X [d, d] and its column sums [d]
  std::int64_t rows_ = 0;
};

}  // namespace evenkeel::probe
