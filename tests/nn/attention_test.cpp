// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "support/close.h"

namespace evenkeel {
namespace {

using nn::AttentionPath;
using nn::causal_attention;

/// Heads with scores of several hundred. At 256 the spacing of bfloat16 is 2.
class LargeScores : public ::testing::Test {
 protected:
  LargeScores() {
    torch::manual_seed(5);
    q = (12 * torch::randn({2, 4, 48, 32})).to(at::kBFloat16);
    k = torch::randn({2, 2, 48, 32}).to(at::kBFloat16);
    v = torch::randn({2, 2, 48, 32}).to(at::kBFloat16);
  }

  at::Tensor apply(AttentionPath path, std::optional<double> softcap, at::ScalarType dtype) const {
    return causal_attention(
               {.q = q.to(dtype), .k = k.to(dtype), .v = v.to(dtype), .softcap = softcap}, path)
        .to(at::kDouble);
  }

  /// The largest difference between bfloat16 and float64 arithmetic on the same inputs.
  double error(AttentionPath path, std::optional<double> softcap) const {
    const auto exact = apply(AttentionPath::explicit_scores, softcap, at::kDouble);
    return (apply(path, softcap, at::kBFloat16) - exact).abs().max().item<double>();
  }

  at::Tensor q, k, v;
};

TEST_F(LargeScores, AreAsExactMaterializedAsInFlashAttention) {
  const double flash = error(AttentionPath::flash, std::nullopt);
  EXPECT_GT(flash, 0);
  EXPECT_LE(error(AttentionPath::explicit_scores, std::nullopt), 2 * flash);
  EXPECT_LE(error(AttentionPath::automatic, std::nullopt), 2 * flash);
}

TEST_F(LargeScores, AreAsExactBelowASoftCap) {
  const double flash = error(AttentionPath::flash, std::nullopt);
  EXPECT_LE(error(AttentionPath::explicit_scores, 50), 2 * flash);
  EXPECT_LE(error(AttentionPath::automatic, 50), 2 * flash);
}

// Where flash attention lacks a feature, `flash` materializes the scores.
TEST_F(LargeScores, BelowASoftCapComeFromTheOnlyPathThatHasOne) {
  EXPECT_TRUE(apply(AttentionPath::flash, 50, at::kFloat)
                  .equal(apply(AttentionPath::explicit_scores, 50, at::kFloat)));
}

/// Gradients of one attention branch with respect to the rows of q, k and v and to the output
/// matrix, after the rows of v are multiplied by c.
class ScaledValues : public ::testing::TestWithParam<AttentionPath> {
 protected:
  static std::vector<at::Tensor> gradients(double c, bool with_norms) {
    torch::manual_seed(6);
    const std::int64_t heads = 4, kv_heads = 2, dk = 4, width = 16, positions = 6;
    const auto x = torch::randn({2, positions, width}, at::kDouble);
    const auto dy = torch::randn({2, positions, width}, at::kDouble);
    auto rows = torch::randn({(heads + 2 * kv_heads) * dk, width}, at::kDouble);
    rows.narrow(0, (heads + kv_heads) * dk, kv_heads * dk).mul_(c);
    const auto qkv = rows.requires_grad_();
    const auto output = torch::randn({width, width}, at::kDouble).requires_grad_();

    nn::Attention attention{.heads = heads, .kv_heads = kv_heads, .head_width = dk};
    attention.qkv = nn::Matrix(qkv);
    attention.output = nn::Matrix(output);
    attention.scale = nn::Factor(0.5);
    attention.path = GetParam();
    const auto norm = [&](std::int64_t count) {
      const norm::Norm tiny_epsilon{.scope = norm::Scope::head, .epsilon = 1e-30};
      const auto gain = torch::full({dk}, 1.5, at::kDouble);
      return nn::NormLayer(tiny_epsilon, {}, count * dk, count, {.gain = gain}, /*fused=*/true);
    };
    if (with_norms) {
      attention.q_norm = norm(heads);
      attention.k_norm = norm(kv_heads);
      attention.v_norm = norm(kv_heads);
    }
    const auto rotary = nn::Rotary::of(0, positions, dk, 1e4, at::kDouble);
    const auto y = attention(x, rotary, nn::Mode::training, nullptr, nullptr);
    const auto got = torch::autograd::grad({y}, {qkv, output}, {dy});
    const auto by_part = got[0].split_with_sizes({heads * dk, kv_heads * dk, kv_heads * dk});
    return {by_part[0], by_part[1], got[1]};
  }
};

// With norms on q, k and v, the gradients of W_Q, W_K and W_O do not depend on the scale of W_V.
// Without them they grow with it.
TEST_P(ScaledValues, LeaveTheOtherGradientsAloneUnderNorms) {
  for (const double c : {0.01, 3.0, 1000.0}) {
    const auto plain = gradients(1, /*with_norms=*/true);
    const auto scaled = gradients(c, /*with_norms=*/true);
    const auto bare = gradients(1, /*with_norms=*/false);
    const auto grown = gradients(c, /*with_norms=*/false);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double size = plain[i].abs().max().item<double>();
      EXPECT_TRUE(testing::close(scaled[i], plain[i], 1e-10, 1e-12 * size)) << c << ", " << i;
      const double large = c * bare[i].abs().max().item<double>();
      EXPECT_TRUE(testing::close(grown[i], c * bare[i], 1e-10, 1e-12 * large)) << c << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothPaths, ScaledValues,
                         ::testing::Values(AttentionPath::automatic, AttentionPath::flash,
                                           AttentionPath::explicit_scores));

}  // namespace
}  // namespace evenkeel
