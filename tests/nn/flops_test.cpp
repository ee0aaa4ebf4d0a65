// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/flops.h"

#include <gtest/gtest.h>

#include "evenkeel/config/config.h"
#include "evenkeel/config/scheme/scheme.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

// 6 N_mm + 6 L S d a token; 1.021 G for the 151M model at 2,048 positions, 100,352 rows.
TEST(Flops, AreSixForEveryWeightAndCausalScore) {
  const auto config = config::resolve(
      {.preset = "151m", .files = {}, .scheme = "pre_norm", .sets = {"model.context=2048"}});
  const auto scheme = config::bind(config.scheme, config::shape_of(config, 257));
  EXPECT_NEAR(nn::flops_per_token(scheme, 100352) * 1e-9, 1.021, 1e-3);
}

// Table 11 of the paper counts 8 d a token and block forward for Pre-Norm's two norms of width d;
// the final norm adds its own. HybridNorm has one of width d and those of q, k and v.
TEST(Flops, OfNormsAreTwelveForEachValueThatIsNormed) {
  const auto of = [](const char* name) {
    const auto config =
        config::resolve({.preset = "151m", .files = {}, .scheme = name, .sets = {}});
    return nn::norm_flops_per_token(config::bind(config.scheme, config::shape_of(config, 257)));
  };
  const double layers = 12, d = 768, heads = 16 + 2 * 4, width = 48;
  EXPECT_EQ(of("pre_norm"), 3 * (8 * layers * d + 4 * d));
  EXPECT_EQ(of("hybrid_norm"), 12 * (layers * (d + heads * width) + d));
}

// Two blocks of width 8 and FFN width 12, 2 heads of 4, 1 of keys, 4 positions, 10 rows:
//   weights  2 * (8 * (8 + 2 * 4) + 8 * 8) + 10 * 8 + 2 * 3 * 8 * 12 = 1040, scores 2 * 4 * 8 = 64
//   norms    of Pre-Norm 2 * 2 * 8 + 8 values, of HybridNorm 2 * (8 + 2 * 4 + 8) + 8
TEST(Flops, OfAModelThatCanBeCountedByHand) {
  const auto bound = [](const char* name) {
    return config::bind(config::find_scheme(name), testing::countable_shape());
  };
  EXPECT_EQ(nn::flops_per_token(bound("pre_norm"), 10), 6 * (1040 + 64));
  EXPECT_EQ(nn::norm_flops_per_token(bound("pre_norm")), 12 * 40);
  EXPECT_EQ(nn::norm_flops_per_token(bound("hybrid_norm")), 12 * 56);
}

// A token meets 2 of 4 experts and a shared one in block 2, three feed-forwards in block 1: the
// hidden norm sees 12 values of each.
TEST(Flops, OfAHiddenNormAreThoseOfAllFeedForwardsOfAToken) {
  auto shape = testing::countable_shape();
  shape.experts = {.count = 4, .active = 2, .shared = 1, .dense_layers = 1};
  const auto source = config::inline_scheme(
      "extends = \"pre_norm\"\nfeed_forward.hidden = \"norm\"\n"
      "norm_parameters = \"N*(2*d + f) + d\"\n",
      ".");
  EXPECT_EQ(nn::norm_flops_per_token(config::bind(source, shape)), 12 * (40 + 2 * 3 * 12));
}

// Table 11: 2 / (6 d + s) and 4 / (6 d + s); HybridNorm* has one norm more in its first block.
TEST(Flops, OfNormsAsThePaperCountsThem) {
  const auto share = [](const char* name) {
    return nn::paper_norms_share(
        config::bind(config::find_scheme(name), testing::countable_shape()));
  };
  EXPECT_DOUBLE_EQ(share("pre_norm"), 2.0 / (6 * 8 + 4));
  EXPECT_DOUBLE_EQ(share("hybrid_norm"), 4.0 / (6 * 8 + 4));
  EXPECT_DOUBLE_EQ(share("hybrid_norm_star"), 4.5 / (6 * 8 + 4));
}

}  // namespace
}  // namespace evenkeel
