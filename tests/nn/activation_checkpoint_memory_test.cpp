// SPDX-License-Identifier: Apache-2.0
// The memory that model.recompute saves: bytes that the forward pass keeps for the backward pass.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/memory/caching_allocator.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/model.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Recompute;
using testing::fixed_token_ids;
using testing::TinyModel;

class RecomputeMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { memory::install_caching_allocator(); }

  /// 2 sequences of 32 tokens. All sizes are powers of two, which the allocator does not round.
  static constexpr double kTokens = 64, kWidth = 64, kInner = 128, kBytes = 4;
  static constexpr std::int64_t kLayers = 2;

  static norm::Shape shape(const norm::Experts& experts = {}, std::int64_t inner = 128) {
    return {.layers = kLayers,
            .width = 64,
            .heads = 4,
            .kv_heads = 2,
            .inner = inner,
            .vocabulary = 31,
            .context = 32,
            .experts = experts};
  }

  /// Bytes in use between the forward and the backward pass of the second step. The first step
  /// allocates what lives longer.
  static double alive(const std::string& scheme, Recompute recompute,
                      const norm::Experts& experts = {}, std::int64_t inner = 128) {
    return alive(config::find_scheme(scheme), recompute, shape(experts, inner));
  }
  static double alive(const config::SchemeSource& scheme, Recompute recompute,
                      const norm::Shape& sizes, nn::Precision precision = nn::Precision::float32) {
    const TinyModel tiny(scheme, precision, {.recompute = recompute}, sizes);
    const auto ids = fixed_token_ids(2, 32), targets = ids.roll(-1, 1);
    const auto forward = [&] {
      return tiny.model->loss_sum(ids, targets, {.mode = nn::Mode::training});
    };
    forward().backward();
    const auto before = memory::allocated_bytes();
    const auto loss = forward();
    return static_cast<double>(memory::allocated_bytes() - before);
  }

  /// What rules of both sublayers add to the memory of a scheme, measured and predicted.
  static std::pair<double, double> added_by(const std::string& parent, const std::string& attention,
                                            const std::string& feed_forward, Recompute recompute) {
    const auto bytes = [&](const std::string& toml) {
      const auto source = config::inline_scheme(toml, ".");
      const auto footprint = nn::footprint(config::bind(source, shape()), 32, true,
                                           {.micro_batch_size = 2, .recompute = recompute});
      return std::pair(alive(source, recompute, shape()), footprint.activations);
    };
    const auto base = text("extends = '", parent, "'\n");
    const auto with =
        bytes(text(base, "attention = { ", attention, " }\nfeed_forward = { ", feed_forward, " }"));
    const auto without = bytes(base);
    return {with.first - without.first, with.second - without.second};
  }

  /// Bytes that one more block saves, measured and predicted.
  static std::pair<double, double> of_one_block(const std::string& scheme, Recompute recompute,
                                                const norm::Experts& experts = {},
                                                nn::Precision precision = nn::Precision::float32) {
    const std::int64_t bytes = precision == nn::Precision::bfloat16 ? 2 : 4;
    const auto source = config::find_scheme(scheme);
    const auto of_layers = [&](std::int64_t layers) {
      auto sizes = shape(experts);
      sizes.layers = layers;
      const auto footprint =
          nn::footprint(config::bind(source, sizes), 32, true,
                        {.micro_batch_size = 2, .compute_bytes = bytes, .recompute = recompute});
      return std::pair(alive(source, recompute, sizes, precision), footprint.activations);
    };
    const auto more = of_layers(kLayers + 1), fewer = of_layers(kLayers);
    return {more.first - fewer.first, more.second - fewer.second};
  }
  /// Bytes of vectors, of statistics of rows and of expert assignments in one block. The smallest
  /// other tensor, the keys, has 8,192 bytes.
  static constexpr double kSmall = 6144;

  static double dropped(const std::string& scheme, const norm::Experts& experts = {}) {
    return alive(scheme, Recompute::none, experts) - alive(scheme, Recompute::norms, experts);
  }

  static double predicted(const std::string& scheme, Recompute recompute,
                          const norm::Experts& experts = {}, std::int64_t inner = 128) {
    const auto bound = config::bind(config::find_scheme(scheme), shape(experts, inner));
    return nn::footprint(bound, 32, true, {.micro_batch_size = 2, .recompute = recompute})
        .activations;
  }
};

// HybridNorm*: one norm before attention, and one before each feed-forward.
TEST_F(RecomputeMemory, DropsNormOutputs) {
  EXPECT_EQ(dropped("hybrid_norm_star"), kBytes * kTokens * (kLayers + 1) * kWidth);
  EXPECT_EQ(dropped("pre_norm"), kBytes * kTokens * kLayers * 2 * kWidth);
}

// A feed-forward twice as wide saves its two products, each twice as large. The gate's output is
// saved only if a norm reads it, and the norm's output with it.
TEST_F(RecomputeMemory, DoesNotSaveTheGateOutput) {
  const auto beside = [](const char* scheme, const norm::Experts& experts = {}) {
    const auto more =
        alive(scheme, Recompute::none, experts, 256) - alive(scheme, Recompute::none, experts);
    EXPECT_EQ(more, predicted(scheme, Recompute::none, experts, 256) -
                        predicted(scheme, Recompute::none, experts))
        << scheme;
    return more / (kBytes * kTokens * kLayers * kInner);
  };
  EXPECT_EQ(beside("hybrid_norm_star"), 2);
  EXPECT_EQ(beside("norm_former"), 4);
  const norm::Experts chosen = {.count = 4, .active = 2},
                      shared = {.count = 4, .active = 2, .shared = 1};
  EXPECT_EQ(beside("pre_norm", shared) - beside("pre_norm", chosen), 2);
}

// nGPT's trained factor saves up and gate, and the operator after it saves them times the factor.
// The factor itself, 2 F values in each block, is no activation of a token.
TEST_F(RecomputeMemory, SavesTheInputOfATrainedFactor) {
  const auto more = alive("ngpt", Recompute::none, {}, 256) - alive("ngpt", Recompute::none);
  const auto activations =
      predicted("ngpt", Recompute::none, {}, 256) - predicted("ngpt", Recompute::none);
  EXPECT_EQ(activations, kBytes * kTokens * kLayers * 4 * kInner);
  EXPECT_EQ(more, activations + kBytes * kLayers * 2 * kInner);
}

// GPAS multiplies the stream after each sublayer by a trained number.
TEST_F(RecomputeMemory, SavesTheDampedStream) {
  const auto activations =
      predicted("gpas", Recompute::none) - predicted("pre_norm", Recompute::none);
  EXPECT_EQ(activations, kBytes * kTokens * kLayers * 2 * kWidth);
  constexpr double kNumbers = 1024;  // bytes of the numbers themselves
  EXPECT_NEAR(alive("gpas", Recompute::none) - alive("pre_norm", Recompute::none), activations,
              kNumbers);
}

// A trained factor saves the tensor that it multiplies, unless another operator saves it, too.
TEST_F(RecomputeMemory, SavesTheInputsOfTrainedFactors) {
  struct Case {
    std::string parent, attention, feed_forward;
    Recompute recompute;
    double sublayers;  // of 2, which save a tensor more
  };
  const std::string branch = "branch_scale = { learned = 'vector', init = 0.1 }",
                    skip = "skip_scale = { learned = 'vector', init = 1 }",
                    score = "score_scale = { learned = 'per_head', init = 1 }",
                    taps = "skip = ['stream', 'block_input'], ";
  const auto none = Recompute::none;
  for (const auto& each :
       {Case{"pre_norm", branch, branch, none, 2}, Case{"peri_ln", branch, branch, none, 2},
        Case{"geo_norm", branch, branch, none, 2}, Case{"pre_norm", skip, skip, none, 0},
        Case{"post_norm", skip, skip, none, 0}, Case{"siamese_norm", skip, skip, none, 2},
        Case{"post_norm_entry", skip, skip, none, 0},
        Case{"post_norm_entry", skip, skip, Recompute::norms, 2},
        Case{"post_norm", "", taps + skip, none, 1}, Case{"geo_norm", skip, skip, none, 2},
        Case{"pre_norm", score, "", none, 1}}) {
    const auto [measured, predicted] =
        added_by(each.parent, each.attention, each.feed_forward, each.recompute);
    const auto where = each.parent + ": " + each.attention + ", " + each.feed_forward;
    EXPECT_EQ(predicted, kBytes * kTokens * kLayers * each.sublayers * kWidth) << where;
    constexpr double kNumbers = 4096;  // bytes of the factors themselves
    EXPECT_NEAR(measured, predicted, kNumbers) << where;
  }
}

TEST_F(RecomputeMemory, DropsMoreWhenWholeBlocksAreRecomputed) {
  const auto norms = alive("hybrid_norm_star", Recompute::norms);
  const auto block = alive("hybrid_norm_star", Recompute::block);
  EXPECT_LT(block, norms / 2);
}

TEST_F(RecomputeMemory, MatchesTheFootprint) {
  for (const auto* const scheme :
       {"hybrid_norm_star", "pre_norm", "post_norm", "sub_ln", "batch_norm", "resi_dual",
        "siamese_norm", "parallel", "vit22b"}) {
    EXPECT_EQ(dropped(scheme),
              predicted(scheme, Recompute::none) - predicted(scheme, Recompute::norms))
        << scheme;
  }
}

// One scheme of each family: which tensors a block saves.
TEST_F(RecomputeMemory, OfABlockMatchesTheFootprint) {
  for (const auto* const scheme :
       {"pre_norm", "post_norm", "hybrid_norm_star", "peri_ln", "gemma2", "parallel", "vit22b",
        "siamese_norm", "resi_dual", "gpas", "ngpt", "geo_norm", "dyt", "swin_v2", "weight_norm"}) {
    const auto [measured, predicted] = of_one_block(scheme, Recompute::none);
    EXPECT_NEAR(measured, predicted, kSmall) << scheme;
  }
  const norm::Experts experts = {.count = 4, .active = 2, .shared = 1};
  for (const auto* const scheme : {"pre_norm", "parallel"}) {
    const auto [measured, predicted] = of_one_block(scheme, Recompute::none, experts);
    EXPECT_NEAR(measured, predicted, kSmall) << scheme << ", experts";
  }
}

// A bfloat16 router saves a float32 copy of its input. The input, of 8,192 bytes, is saved only if
// a shared expert reads it.
TEST_F(RecomputeMemory, OfABfloat16MixtureMatchesTheFootprint) {
  for (const std::int64_t shared : {0, 1}) {
    const norm::Experts experts = {.count = 4, .active = 2, .shared = shared};
    for (const auto* const scheme : {"pre_norm", "post_norm", "hybrid_norm_star", "parallel"}) {
      const auto [measured, predicted] =
          of_one_block(scheme, Recompute::none, experts, nn::Precision::bfloat16);
      EXPECT_NEAR(measured, predicted, kSmall) << scheme << ", shared " << shared;
    }
  }
}

// The inputs of a checkpointed block: skip and branch of a sum or one tensor, and the second
// stream.
TEST_F(RecomputeMemory, OfACheckpointedBlockIsThatOfItsInputs) {
  const std::vector<std::pair<const char*, int>> cases = {
      {"pre_norm", 2}, {"parallel", 2},  {"post_norm", 1},   {"gpas", 1},
      {"ngpt", 1},     {"resi_dual", 2}, {"siamese_norm", 2}};
  for (const auto& [scheme, tensors] : cases) {
    const auto [measured, predicted] = of_one_block(scheme, Recompute::block);
    EXPECT_EQ(predicted, tensors * kBytes * kTokens * kWidth) << scheme;
    EXPECT_NEAR(measured, predicted, kSmall) << scheme;
  }
}

// The input of a router is saved.
TEST_F(RecomputeMemory, OfAMixtureOfExpertsIsThatOfAttention) {
  const norm::Experts experts = {.count = 4, .active = 2, .shared = 1};
  const auto bytes = dropped("pre_norm", experts);
  EXPECT_EQ(bytes, kBytes * kTokens * kLayers * kWidth);
  EXPECT_EQ(bytes, predicted("pre_norm", Recompute::none, experts) -
                       predicted("pre_norm", Recompute::norms, experts));
}

}  // namespace
}  // namespace evenkeel
