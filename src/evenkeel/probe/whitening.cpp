// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/whitening.h"

#include <ATen/ATen.h>

#include <string>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

constexpr std::int64_t kTokens = 512, kWidth = 16;
constexpr double kExact = 1e-10;  // float64: an eigendecomposition of order kWidth
constexpr double kCorrelated =
    0.3;  // the largest of 120 pairs is about 0.12 of independent features
constexpr double kIllConditioned = 10;

at::Tensor covariance(const at::Tensor& x) {
  const auto centred = x - x.mean(0);
  return at::matmul(centred.t(), centred) / static_cast<double>(x.size(0));
}

double largest_covariance(const at::Tensor& x) {
  const auto all = covariance(x);
  return (all - at::diag(all.diagonal())).abs().max().item<double>();
}

double largest_excess_variance(const at::Tensor& x) {
  return (covariance(x).diagonal() - 1).abs().max().item<double>();
}

double condition_number(const at::Tensor& x) {
  const auto values = at::linalg_eigvalsh(covariance(x));
  return (values.max() / values.min()).item<double>();
}

/// Tokens whose features are random mixtures of independent ones.
at::Tensor correlated_tokens() {
  const auto mixture = randn(1, "probe/whitening/mixture", {kWidth, kWidth});
  return at::matmul(randn(1, "probe/whitening/x", {kTokens, kWidth}), mixture);
}

}  // namespace

at::Tensor whitened(const at::Tensor& x) {
  const auto [values, vectors] = at::linalg_eigh(covariance(x));
  return at::matmul(x - x.mean(0), at::matmul(vectors * values.rsqrt(), vectors.t()));
}

Claims whitening_claims() {
  const auto x = correlated_tokens();
  const auto white = whitened(x);
  const auto by_batch = ops::reference::batch_rows(x, 0),
             by_token = ops::reference::layer_rows(x, 0);
  const std::string covariances = "largest covariance of two features";
  const std::string variances = "largest |variance of a feature - 1|";
  const std::string condition = "condition number of least squares on the features";
  return {
      {"whitening", variances, largest_excess_variance(white), Relation::at_most, kExact},
      {"whitening", covariances, largest_covariance(white), Relation::at_most, kExact},
      {"whitening", condition, condition_number(white), Relation::near, 1, kExact},
      {"batch_norm", variances, largest_excess_variance(by_batch), Relation::at_most, kExact},
      {"batch_norm", covariances, largest_covariance(by_batch), Relation::at_least, kCorrelated},
      {"batch_norm", condition, condition_number(by_batch), Relation::at_least, kIllConditioned},
      {"layer_norm", covariances, largest_covariance(by_token), Relation::at_least, kCorrelated}};
}

}  // namespace evenkeel::probe
