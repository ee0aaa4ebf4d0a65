// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// What a residual stream x [B, T, d] looks like. Without gradients, in float64.
namespace evenkeel::probe {

/// A mean that is taken in pieces.
struct Mean {
  double sum = 0, weight = 0;

  void add(double value, double of) {
    sum += value * of;
    weight += of;
  }
  /// NaN of nothing.
  double value() const { return sum / weight; }
};

/// The larger one; NaN if one of them is.
double larger(double a, double b);

/// mean(x^2); stream_rms is its root.
double mean_square(const at::Tensor& x);

/// max |x|
double largest(const at::Tensor& x);

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

/// exp of the entropy of the singular values of the centred matrix [all tokens, d], which are
/// taken in pieces: what is kept is d * d.
/// \source Roy and Vetterli 2007, "The effective rank"
class EffectiveRank {
 public:
  void add(const at::Tensor& x);
  double value() const;

 private:
  at::Tensor products_, sum_;  // X^T X [d, d] and its column sums [d]
  std::int64_t rows_ = 0;
};

}  // namespace evenkeel::probe
