// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/nn/parameter_specs.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

// HybridNorm* with 2 blocks of width 8, heads of 4 (2 query, 1 key), FFN width 12:
//   embedding               10 * 8                               =   80
//   matrices   2 * (16 * 8 + 8 * 8 + 24 * 8 + 8 * 12)            =  960
//   gains      8 + 3 * 4 + 8, then 3 * 4 + 8, and 8 at the end   =   56
nn::Footprint footprint(const nn::FootprintOptions& options, bool tied = true,
                        const char* scheme = "hybrid_norm_star") {
  return nn::footprint(config::bind(config::find_scheme(scheme), testing::countable_shape()), 10,
                       tied, options);
}

/// Bytes of activations that Recompute::norms does not save, for 4 tokens in float32.
double dropped(const char* scheme) {
  const auto all = footprint({.recompute = nn::Recompute::none}, true, scheme);
  return all.activations - footprint({.recompute = nn::Recompute::norms}, true, scheme).activations;
}

TEST(Footprint, HoldsFourFloatsAParameterInFloat32) {
  const auto bytes = footprint({.compute_bytes = 4});
  EXPECT_EQ(bytes.weights, 1096 * 4);
  EXPECT_EQ(bytes.gradients, 1096 * 4);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 4);
}

// Masters, gradients and moments are float32. Matrices have bfloat16 copies, gains do not.
TEST(Footprint, HoldsMastersAndBfloat16Copies) {
  const auto bytes = footprint({.compute_bytes = 2});
  EXPECT_EQ(bytes.weights, 1096 * 4 + 1040 * 2);
  EXPECT_EQ(bytes.gradients, 1096 * 4);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 4);
}

TEST(Footprint, HoldsDoublesInFloat64) {
  const auto bytes = footprint({.compute_bytes = 8});
  EXPECT_EQ(bytes.weights, 1096 * 8);
  EXPECT_EQ(bytes.gradients, 1096 * 8);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 8);
}

// Callers that try many micro-batches compute the counts once.
TEST(Footprint, TakesTheCountsOfTheModel) {
  const auto scheme = config::bind(config::find_scheme("pre_norm"), testing::countable_shape());
  const auto counts = nn::parameter_counts(nn::parameter_specs(scheme, 10, /*tied=*/false));
  EXPECT_EQ(nn::footprint(scheme, 10, counts, {}).total(),
            nn::footprint(scheme, 10, /*tied=*/false, {}).total());
  const nn::ParameterCounts other = {.total = 1000, .norms = 100};
  EXPECT_EQ(nn::footprint(scheme, 10, other, {.compute_bytes = 2}).weights, 1000 * 4 + 900 * 2);
}

// The head's gradient of a second micro-batch needs memory of its own, besides the sum.
TEST(Footprint, HoldsASecondHeadGradientUnderAccumulation) {
  const auto second_gradient = footprint({.accumulation_steps = 2}).temporary -
                               footprint({.accumulation_steps = 1}).temporary;
  EXPECT_EQ(second_gradient, 80 * 4);
}

// Float32 copies of the head's weight, of 4 tokens and of their logits.
TEST(Footprint, HoldsCopiesForWidenedProducts) {
  const auto vocabulary = static_cast<double>(testing::countable_shape().vocabulary);
  const auto copies = footprint({.compute_bytes = 2, .widened_products = true}).temporary -
                      footprint({.compute_bytes = 2}).temporary;
  EXPECT_EQ(copies, 4 * (vocabulary * 8 + 4 * 8 + 4 * vocabulary));
}

TEST(Footprint, CountsAHeadOfItsOwn) {
  EXPECT_EQ(footprint({.compute_bytes = 4}, /*tied=*/false).weights, (1096 + 80) * 4);
}

// HybridNorm*: block 1 has a norm before attention, each block one before the feed-forward, of
// width 8; 4 tokens.
TEST(Footprint, DropsNormOutputsThatAreRecomputed) {
  EXPECT_EQ(dropped("hybrid_norm_star"), 4 * 4 * 3 * 8);
  EXPECT_LT(footprint({.recompute = nn::Recompute::block}).activations, footprint({}).activations);
}

// For 4 tokens in float32: in each block 12 outputs of silu and 12 of the product with up; and two
// steps of each norm, of 8 + 8 + 4 + 4 + 8 values in block 1 and 8 + 4 + 4 + 8 in block 2.
TEST(Footprint, CountsWhatFormulasSave) {
  const auto more = footprint({.fused = false}).activations - footprint({}).activations;
  EXPECT_EQ(more, 4 * 4 * (2 * 2 * 12 + 2 * (32 + 24)));
}

// The logits of 4 tokens, their logarithmic softmax, and gradients of both: 64 bytes at least each.
TEST(Footprint, CountsAllLogitsOfAFormula) {
  const auto scheme = config::bind(config::find_scheme("pre_norm"), testing::countable_shape());
  const auto temporary = [&](bool fused, std::int64_t tokens) {
    auto longer = scheme;
    longer.shape.context = tokens;
    return nn::footprint(longer, 10, true, {.fused = fused}).temporary;
  };
  constexpr std::int64_t kTokens = 1 << 24;  // more than a chunk of the loss has
  const auto vocabulary = static_cast<double>(scheme.shape.vocabulary);
  EXPECT_GE(temporary(false, kTokens) - temporary(true, kTokens), 2.5 * 4 * vocabulary * kTokens);
}

// 4 x 10 logits in float32. By formulas, a soft cap saves its tanh, a learned scale its input and
// the z-loss the logits. The operator saves none, but multiplies the weight by a learned scale.
TEST(Footprint, CountsTheLogitsOfSoftCapScaleAndZLoss) {
  const auto plain = config::bind(config::find_scheme("pre_norm"), testing::countable_shape());
  auto capped = plain, scaled = plain;
  capped.logits_softcap = norm::Expression(30);
  scaled.logits_scale = norm::Learned();
  constexpr double kLogits = 4 * 10 * 4, kWeight = 80 * 4;
  for (const bool fused : {true, false}) {
    const auto more = [&](const norm::Scheme& scheme, bool z_loss) {
      const auto temporary = [fused](const norm::Scheme& of, bool with_z_loss) {
        return nn::footprint(of, 10, true, {.fused = fused, .z_loss = with_z_loss}).temporary;
      };
      return temporary(scheme, z_loss) - temporary(plain, false);
    };
    EXPECT_EQ(more(capped, false), fused ? 0 : kLogits);
    EXPECT_EQ(more(plain, true), fused ? 0 : kLogits);
    // Gradients of the scaled weight, of the loss times it and of the weight; the scaled weight.
    EXPECT_EQ(more(scaled, false), fused ? 4 * kWeight : kWeight + kLogits);
  }
}

// A norm over the batch updates a state, and in SiameseNorm a sublayer reads norm(x + norm(y)).
TEST(Footprint, SavesWhatIsNotRecomputed) {
  EXPECT_EQ(dropped("batch_norm"), 0);
  EXPECT_EQ(dropped("siamese_norm"), 0);
  EXPECT_EQ(dropped("pre_norm"), 4 * 4 * 4 * 8);
}

// Each sublayer of SiameseNorm has two more norms than Pre-Norm's: one of y, which saves y, and one
// of the sum.
TEST(Footprint, CountsTheSecondStreamThatSublayersRead) {
  const auto one = footprint({}, true, "pre_norm").activations;
  const auto both = footprint({}, true, "siamese_norm").activations;
  EXPECT_EQ(both - one, 4 * 4 * 2 * 2 * (8 + 8));
}

/// The values of width 8 that activation checkpointing saves for a token in each of two equal
/// blocks, besides the tensors of the one block that runs again. 4 tokens in float32.
double saved_streams(const char* scheme) {
  constexpr double kStream = 4 * 4 * 8;
  constexpr double kOutside = 3 * kStream;  // embedding, final stream and its norm
  const double all = footprint({}, true, scheme).activations;
  const double saved = footprint({.recompute = nn::Recompute::block}, true, scheme).activations;
  const double inside = (all - kOutside) / 2;  // of one block
  return (saved - kOutside - inside) / (2 * kStream);
}

// A block's input is a sum, which saves skip and branch, or one tensor after a norm, a damping or a
// step on the sphere; the second stream is one more.
TEST(Footprint, KeepsTheStreamsOfEachBlockUnderCheckpointing) {
  EXPECT_EQ(saved_streams("pre_norm"), 2);
  EXPECT_EQ(saved_streams("parallel"), 2);
  EXPECT_EQ(saved_streams("post_norm"), 1);
  EXPECT_EQ(saved_streams("gpas"), 1);
  EXPECT_EQ(saved_streams("ngpt"), 1);
  EXPECT_EQ(saved_streams("resi_dual"), 2);
  EXPECT_EQ(saved_streams("siamese_norm"), 2);
}

// By hand, for a token of ResiDual's block: 2 inputs of a sublayer and 2 of a norm of 8 values;
// products, q, k and v of 16 and a context of 8; up and gate of 24; 6 statistics of 8 bytes.
TEST(Footprint, CountsTheActivationsOfTwoStreamsUnderCheckpointing) {
  const double inside = 4 * (4 * (4 * 8 + 2 * 16 + 8 + 24) + 6 * 8);
  const double streams = 2 * 2 * 4 * 4 * 8, outside = 3 * 4 * 4 * 8;
  EXPECT_EQ(footprint({.recompute = nn::Recompute::block}, true, "resi_dual").activations,
            inside + streams + outside);
}

TEST(Footprint, CountsTheBranchOfASphereStep) {
  const auto step = config::bind(config::find_scheme("geo_norm"), testing::countable_shape());
  auto sum = step;
  for (auto& block : sum.blocks) {
    block.attention.add.update = block.feed_forward.add.update = norm::Update::add;
  }
  const auto kept = [](const norm::Scheme& of) {
    return nn::footprint(of, 10, true, {}).activations;
  };
  EXPECT_EQ(kept(step) - kept(sum), 4 * 4 * 2 * 2 * 8);  // a branch of 8 values for each sublayer
}

/// What rules of both sublayers add to the activations of a scheme, in values of width 8 for each
/// of 2 blocks and 4 tokens in float32.
double added_by(const std::string& rules, const std::string& parent = "pre_norm",
                nn::Recompute recompute = nn::Recompute::none) {
  const auto activations = [&](const std::string& toml) {
    const auto scheme = config::bind(config::inline_scheme(toml, "."), testing::countable_shape());
    return nn::footprint(scheme, 10, true, {.recompute = recompute}).activations;
  };
  const auto base = text("extends = '", parent, "'\n");
  const auto with = text(base, "attention = { ", rules, " }\nfeed_forward = { ", rules, " }");
  return (activations(with) - activations(base)) / (2 * 4 * 4 * 8);
}

// value * branch saves the branch. A step on the sphere has the factor in its own operator.
TEST(Footprint, SavesTheBranchOfATrainedScale) {
  const std::string scale = "branch_scale = { learned = 'vector', init = 0.1 }";
  EXPECT_EQ(added_by(scale), 2);
  EXPECT_EQ(added_by(scale, "peri_ln"), 2);
  EXPECT_EQ(added_by(scale, "geo_norm"), 2);
  EXPECT_EQ(added_by("update = 'sphere', " + scale), 2);  // the targets of two steps
  EXPECT_EQ(added_by("branch_scale = 0.1"), 0);
}

// The stream is saved as the input of a norm or of a linear layer, unless the sublayer reads a sum
// with the second stream; the norm's output, unless it is recomputed. A sum of taps is not.
TEST(Footprint, SavesTheSkipOfATrainedScaleOnce) {
  const std::string scale = "skip_scale = { learned = 'vector', init = 1 }";
  EXPECT_EQ(added_by(scale, "pre_norm"), 0);
  EXPECT_EQ(added_by(scale, "post_norm"), 0);
  EXPECT_EQ(added_by(scale, "siamese_norm"), 2);
  EXPECT_EQ(added_by(scale, "post_norm_entry"), 0);
  EXPECT_EQ(added_by(scale, "post_norm_entry", nn::Recompute::norms), 2);
  EXPECT_EQ(added_by("skip = ['stream', 'block_input'], " + scale, "post_norm"), 2);
  EXPECT_EQ(added_by("skip = ['stream', 'block_input']", "post_norm"), 0);
  EXPECT_EQ(added_by(scale, "geo_norm"), 2);  // starts of two steps
}

// Attention saves value * q, and the factor q.
TEST(Footprint, SavesTheQueriesOfATrainedScoreScale) {
  const auto activations = [](const char* score_scale) {
    const auto source =
        config::inline_scheme(text("attention = { score_scale = ", score_scale, " }"), ".");
    return nn::footprint(config::bind(source, testing::countable_shape()), 10, true, {})
        .activations;
  };
  EXPECT_EQ(activations("{ learned = 'per_head', init = 1 }") - activations("1"), 4 * 4 * 2 * 8);
}

TEST(Footprint, GrowsWithTheMicroBatchByItsActivations) {
  const auto one = footprint({.micro_batch_size = 1});
  const auto three = footprint({.micro_batch_size = 3});
  EXPECT_EQ(three.activations, 3 * one.activations);
  EXPECT_EQ(three.weights, one.weights);
}

// A score matrix has 4 positions for each of 4 tokens and 2 heads. Each of 2 blocks saves its
// attention weights; with bfloat16, also a rounded copy. Three matrices are temporary.
TEST(Footprint, CountsMaterializedScores) {
  constexpr double kScores = 4 * 4 * 2;
  const auto more = [](std::int64_t bytes) {
    const auto materialized = footprint({.compute_bytes = bytes, .explicit_attention = true});
    const auto tiles = footprint({.compute_bytes = bytes});
    return std::pair(materialized.activations - tiles.activations,
                     materialized.temporary - tiles.temporary);
  };
  EXPECT_EQ(more(4), std::pair(2 * kScores * 4, 3 * kScores * 4));
  EXPECT_EQ(more(2), std::pair(2 * kScores * (4 + 2), 3 * kScores * 4));
}

}  // namespace
}  // namespace evenkeel
