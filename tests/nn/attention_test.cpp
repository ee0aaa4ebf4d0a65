// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace evenkeel {
namespace {

using nn::AttentionPath;
using nn::causal_attention;

/// Heads whose scores reach some hundreds: in bfloat16, neighbours of 256 are 2 apart.
class LargeScores : public ::testing::Test {
 protected:
  LargeScores() {
    torch::manual_seed(5);
    q = (12 * torch::randn({2, 4, 48, 32})).to(at::kBFloat16);
    k = torch::randn({2, 2, 48, 32}).to(at::kBFloat16);
    v = torch::randn({2, 2, 48, 32}).to(at::kBFloat16);
  }

  at::Tensor apply(AttentionPath path, std::optional<double> softcap, at::ScalarType dtype) const {
    return causal_attention(q.to(dtype), k.to(dtype), v.to(dtype), 1, softcap, path)
        .to(at::kDouble);
  }

  /// The largest error of bfloat16 against float64 of the same numbers.
  double error(AttentionPath path, std::optional<double> softcap) const {
    const auto exact = apply(AttentionPath::explicit_scores, softcap, at::kDouble);
    return (apply(path, softcap, at::kBFloat16) - exact).abs().max().item<double>();
  }

  at::Tensor q, k, v;
};

TEST_F(LargeScores, AreAsExactWrittenDownAsInFlashAttention) {
  const double flash = error(AttentionPath::flash, std::nullopt);
  EXPECT_GT(flash, 0);
  EXPECT_LE(error(AttentionPath::explicit_scores, std::nullopt), 2 * flash);
}

TEST_F(LargeScores, AreAsExactBelowASoftCap) {
  EXPECT_LE(error(AttentionPath::explicit_scores, 50),
            2 * error(AttentionPath::flash, std::nullopt));
}

}  // namespace
}  // namespace evenkeel
