// SPDX-License-Identifier: Apache-2.0
// Bytes of activations of a small model, counted by hand from the forward pass of nn/block.cpp.
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/nn/footprint.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

class BlockFootprint : public ::testing::Test {
 protected:
  /// 2 blocks, 4 tokens in float32; outside of the blocks 3 streams of 8 values.
  static constexpr double kBlocks = 2, kTokens = 4, kBytes = 4, kWidth = 8;
  static constexpr double kOutside = kTokens * kBytes * 3 * kWidth;
  /// A token of attention: products, q, k and v of 16 values, a context of 8; 6 statistics.
  static constexpr double kAttention = 2 * 16 + 8, kStatistics = 6 * 8, kUpGate = 24;
  static constexpr const char* kTrained = "{ learned = 'vector', init = 0.1 }";

  static norm::Scheme bound(const std::string& toml, const norm::Experts& experts = {}) {
    auto shape = testing::countable_shape();
    shape.experts = experts;
    return config::bind(config::inline_scheme(toml, "."), shape);
  }

  static double activations(const std::string& toml, const norm::Experts& experts = {},
                            const nn::FootprintOptions& options = {}) {
    return nn::footprint(bound(toml, experts), 10, true, options).activations;
  }

  /// Values per token and block that the second scheme saves more than the first.
  static double added(const std::string& base, const std::string& with) {
    return (activations(with) - activations(base)) / (kBlocks * kTokens * kBytes);
  }

  /// Values per token and block that Recompute::norms does not save.
  static double dropped(const std::string& toml, const norm::Experts& experts = {}) {
    const auto norms = activations(toml, experts, {.recompute = nn::Recompute::norms});
    return (activations(toml, experts) - norms) / (kBlocks * kTokens * kBytes);
  }
};

// Both branches read one stream, through two norms, through none, or through one norm.
TEST_F(BlockFootprint, CountsTheStreamOfAParallelBlockOnce) {
  const auto by_hand = [](double norm_outputs) {
    const double values = kWidth + norm_outputs * kWidth + kAttention + kUpGate;
    return kBlocks * kTokens * (kBytes * values + kStatistics) + kOutside;
  };
  EXPECT_EQ(activations("extends = 'parallel'"), by_hand(2));
  EXPECT_EQ(activations("layout = 'parallel'"), by_hand(0));
  EXPECT_EQ(activations("extends = 'vit22b'"), by_hand(1));
}

// One addition with one norm and one damping; each branch has its own output norm and factor.
TEST_F(BlockFootprint, CountsTheRulesOfAParallelBlock) {
  const std::string base = "extends = 'parallel'\n";
  EXPECT_EQ(added(base, base + "damp = { learned = 'scalar', init = 0, through = 'silu' }"),
            kWidth);
  EXPECT_EQ(added(base, text(base, "attention = { branch_scale = ", kTrained,
                             " }\nfeed_forward = { branch_scale = ", kTrained, " }")),
            2 * kWidth);
  const std::string none = "layout = 'parallel'\n";
  EXPECT_EQ(added(none, none + "attention = { output = 'norm', residual = 'norm' }\n"
                               "feed_forward = { output = 'norm' }"),
            3 * kWidth);
}

// A router saves the input that it reads.
TEST_F(BlockFootprint, KeepsTheInputOfARouterInAParallelBlock) {
  const norm::Experts experts = {.count = 4, .active = 2};
  EXPECT_EQ(dropped("extends = 'parallel'"), 2 * kWidth);
  EXPECT_EQ(dropped("extends = 'vit22b'"), kWidth);
  EXPECT_EQ(dropped("extends = 'parallel'", experts), kWidth);
  EXPECT_EQ(dropped("extends = 'vit22b'", experts), 0);
}

// A bfloat16 router saves a float32 copy of its input. The input itself is the output of a norm or
// the stream, and is saved only if a shared expert reads it.
TEST_F(BlockFootprint, CountsTheInputOfABfloat16RouterOnce) {
  const norm::Experts experts = {.count = 4, .active = 2},
                      shared = {.count = 4, .active = 2, .shared = 1};
  const auto with = [](const char* scheme, const norm::Experts& mixture,
                       nn::Recompute recompute = nn::Recompute::none) {
    return activations(text("extends = '", scheme, "'"), mixture,
                       {.compute_bytes = 2, .recompute = recompute});
  };
  const double of_experts = 2 * (kWidth + kUpGate + 2 * 12);
  const double assignment = 2 * 3 * 8, router = 3 * 4 * 4, copy = 4 * kWidth;
  const auto by_hand = [&](double inputs) {  // inputs of norms and of attention, in bfloat16
    const double values = inputs * kWidth + kAttention + of_experts;
    return kBlocks * kTokens * (2 * values + kStatistics + assignment + router + copy) +
           kOutside / 2;
  };
  EXPECT_EQ(with("pre_norm", experts), by_hand(3));
  EXPECT_EQ(with("post_norm", experts), by_hand(3));
  for (const auto* const scheme : {"pre_norm", "post_norm"}) {
    EXPECT_EQ(with(scheme, shared) - with(scheme, experts),
              kBlocks * kTokens * 2 * (kWidth + kUpGate))
        << scheme;
  }
  // Under Recompute::norms, attention computes the input of both sublayers again.
  EXPECT_EQ(with("vit22b", experts) - with("vit22b", experts, nn::Recompute::norms),
            kBlocks * kTokens * 2 * kWidth);
  EXPECT_EQ(with("vit22b", shared), with("vit22b", shared, nn::Recompute::norms));
}

// Block 1 is dense, as wide as 3 experts; block 2 has a router, 2 of 4 experts and a shared one. A
// routed expert saves its input of 8 values, up and gate of 24, and hidden values of 12 twice.
TEST_F(BlockFootprint, CountsTheFactorOfUpAndGateInDenseBlocksOnly) {
  auto scheme =
      bound("extends = 'pre_norm'", {.count = 4, .active = 2, .shared = 1, .dense_layers = 1});
  for (auto& block : scheme.blocks) block.feed_forward.up_gate_scale = norm::Learned();
  const double inputs = 4 * kWidth;  // stream and norm output of two sublayers
  const double dense = inputs + kAttention + 3 * (kUpGate + kUpGate);
  const double mixture = inputs + kAttention + 2 * (kWidth + kUpGate + 2 * 12) + kUpGate;
  const double assignment = 2 * 3 * 8, router = 3 * 4 * 4;  // of 2 choices; of 4 experts
  EXPECT_EQ(
      nn::footprint(scheme, 10, nn::ParameterCounts{}, {}).activations,
      kTokens * (kBytes * (dense + mixture) + 2 * kStatistics + assignment + router) + kOutside);
}

// The formula multiplies the output of an expert by p, and saves it.
TEST_F(BlockFootprint, CountsTheOutputOfAnExpertOfTheFormula) {
  const auto of_choice = [](bool fused) {
    const auto with = [&](std::int64_t active) {
      return activations("extends = 'pre_norm'", {.count = 4, .active = active}, {.fused = fused});
    };
    return (with(2) - with(1)) / (kBlocks * kTokens);
  };
  EXPECT_EQ(of_choice(true), kBytes * (kWidth + kUpGate + 2 * 12) + 3 * 8);
  EXPECT_EQ(of_choice(false), kBytes * (2 * kWidth + kUpGate + 2 * 12) + 3 * 8);
}

// ops::qkv_norm_rope() saves its input: the products, or q, k and v of 16 values after norms that
// it does not have. If it has no norm of the three, ops::qkv_rope() saves nothing.
TEST_F(BlockFootprint, CountsConcatenatedHeadsOfTwoKindsOfNorms) {
  const auto with = [](const char* q, const char* k) {
    return text("attention = { input = 'norm', q = '", q, " per head', k = '", k, " per head' }");
  };
  const auto base = with("rms_norm", "rms_norm");
  EXPECT_EQ(added(base, with("layer_norm", "rms_norm")), 16);
  EXPECT_EQ(added(base, with("layer_norm", "layer_norm")), 0);
}

// A computed weight of each matrix: 16 x 8, 8 x 8, 24 x 8 and 8 x 12. The rows of q are a part of
// the first one.
TEST_F(BlockFootprint, CountsMatricesThatAReparameterizationComputes) {
  const auto none = activations("extends = 'no_norm'");
  EXPECT_EQ(activations("extends = 'weight_norm'") - none,
            kBlocks * kBytes * (16 * 8 + 8 * 8 + 24 * 8 + 8 * 12));
  EXPECT_EQ(activations("extends = 'no_norm'\n"
                        "reparameterize = [{ rule = 'weight_norm', weights = ['attention.q'] }]") -
                none,
            kBlocks * kBytes * 16 * 8);
}

}  // namespace
}  // namespace evenkeel
