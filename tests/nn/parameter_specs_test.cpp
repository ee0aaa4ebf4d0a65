// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/parameter_specs.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/validate.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

struct Size {
  const char* preset;
  double millions, without_embedding;  // arXiv:2503.04598, table 9, with Pre-Norm's gains
  std::int64_t pre_norms, hybrid_norms;
};

class Sizes : public ::testing::TestWithParam<Size> {};

nn::ParameterCounts counts_in(const std::string& preset, const std::string& scheme) {
  const auto config =
      config::resolve({.preset = preset, .files = {}, .scheme = scheme, .sets = {}});
  const auto shape = config::shape_of(config, 257);
  return nn::parameter_counts(
      nn::parameter_specs(config::bind(config.scheme, shape), shape.vocabulary, config.model.tied));
}

TEST_P(Sizes, AreThoseOfThePaper) {
  const auto& size = GetParam();
  const auto pre = counts_in(size.preset, "pre_norm");
  EXPECT_NEAR(static_cast<double>(pre.total) * 1e-6, size.millions, 0.06);
  EXPECT_NEAR(static_cast<double>(pre.without_embedding()) * 1e-6, size.without_embedding, 0.06);
  EXPECT_EQ(pre.norms, size.pre_norms);
  EXPECT_EQ(counts_in(size.preset, "hybrid_norm").norms, size.hybrid_norms);
}

INSTANTIATE_TEST_SUITE_P(Paper, Sizes,
                         ::testing::Values(Size{"151m", 151.35, 74.34, 19200, 11712},
                                           Size{"285m", 285.16, 182.48, 25600, 15616},
                                           Size{"550m", 550.44, 396.41, 50688, 30720},
                                           Size{"543m_29l", 543.67, 440.99, 60416, 36288},
                                           Size{"1.2b", 1276.8, 1071.4, 67584, 37888},
                                           Size{"1.2b_code", 1178.5, 973.1, 67584, 37888}));

TEST(ParameterSpecs, ListsTheTensorsOfHybridNormStarInTheOrderOfTheForwardPass) {
  const auto scheme =
      config::bind(config::find_scheme("hybrid_norm_star"), testing::countable_shape());
  std::string names;
  for (const auto& each : nn::parameter_specs(scheme, 10, /*tied=*/true)) {
    names += each.name;
    for (const auto size : each.shape) names += text(" ", size);
    names += "\n";
  }
  EXPECT_EQ(names,
            "embedding.weight 10 8\n"
            "blocks.0.attention.input_norm.gain 8\n"
            "blocks.0.attention.qkv.weight 16 8\n"
            "blocks.0.attention.q_norm.gain 4\n"
            "blocks.0.attention.k_norm.gain 4\n"
            "blocks.0.attention.v_norm.gain 4\n"
            "blocks.0.attention.output.weight 8 8\n"
            "blocks.0.feed_forward.input_norm.gain 8\n"
            "blocks.0.feed_forward.up_gate.weight 24 8\n"
            "blocks.0.feed_forward.down.weight 8 12\n"
            "blocks.1.attention.qkv.weight 16 8\n"
            "blocks.1.attention.q_norm.gain 4\n"
            "blocks.1.attention.k_norm.gain 4\n"
            "blocks.1.attention.v_norm.gain 4\n"
            "blocks.1.attention.output.weight 8 8\n"
            "blocks.1.feed_forward.input_norm.gain 8\n"
            "blocks.1.feed_forward.up_gate.weight 24 8\n"
            "blocks.1.feed_forward.down.weight 8 12\n"
            "final_norm.gain 8\n");
}

// One dyt at each of 2 N + 1 places: a gain and a bias of d values, and one alpha.
TEST(ParameterSpecs, ListsEveryParameterOfANorm) {
  const auto source = config::inline_scheme(
      "extends = \"pre_norm\"\nnorm = \"dyt\"\n"
      "norm_parameters = \"(2*N + 1)*(2*d + 1)\"\n",
      ".");
  const auto specs =
      nn::parameter_specs(config::bind(source, testing::countable_shape()), 10, /*tied=*/true);
  EXPECT_EQ(nn::parameter_counts(specs).norms, 5 * 17);
  EXPECT_EQ(specs[3].name, "blocks.0.attention.input_norm.alpha");
}

TEST(ParameterSpecs, CountsTheNormParametersOfEveryScheme) {
  for (const auto& name : config::catalogue()) {
    const auto scheme = config::bind(config::find_scheme(name), testing::tiny_shape(4));
    EXPECT_EQ(nn::parameter_counts(nn::parameter_specs(scheme, 31, true)).norms,
              norm::norm_parameter_count(scheme))
        << name;
  }
}

}  // namespace
}  // namespace evenkeel
