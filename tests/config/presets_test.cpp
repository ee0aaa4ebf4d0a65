// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/presets.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "config/config_fixture.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {
namespace {

Config preset(const std::string& name) {
  return resolve({.preset = name, .files = {}, .scheme = {}, .sets = {}});
}

/// Matrices and norms of a dense model with SwiGLU, by hand:
///   V*d (twice if untied) + N*(d*(h + 2 kv)*dk + h*dk*d + 3*d*f) + norm gains
std::int64_t parameters(const Config& config, std::int64_t gains) {
  const auto s = shape_of(config, 257);
  const auto embedding = s.vocabulary * s.width * (config.model.tied ? 1 : 2);
  const auto attention = s.width * (2 * s.heads + 2 * s.kv_heads) * s.head_width();
  return embedding + s.layers * (attention + 3 * s.width * s.inner) + gains;
}

struct Published {
  const char* name;
  double millions;            // arXiv 2503.04598, table 9: all parameters with Pre-Norm's gains
  std::int64_t pre, star;     // norm gains of Pre-Norm; of HybridNorm*: N*(3*dk + d) + 2*d
  std::int64_t tokens, rows;  // 1e9 tokens; rows of the embedding matrix
};
const std::vector<Published> kPublished = {
    {"151m", 151.35, 19200, 11712 + 768, 200, 100278},
    {"285m", 285.16, 25600, 15616 + 1024, 200, 100278},
    {"550m", 550.44, 50688, 30720 + 1536, 400, 100278},
    {"543m_29l", 543.67, 60416, 36288 + 1024, 400, 100278},
    {"1.2b", 1276.8, 67584, 37888 + 2048, 1000, 100352},
    {"1.2b_code", 1178.5, 67584, 37888 + 2048, 1000, 100352}};

TEST(Presets, AreListedByName) {
  EXPECT_EQ(presets(),
            (std::vector<std::string>{"1.2b", "1.2b_code", "151m", "285m", "543m_29l", "550m", "7b",
                                      "moe_1b_7b", "moe_tiny", "nano", "tiny"}));
}

TEST(Presets, HaveThePublishedSizes) {
  for (const auto& each : kPublished) {
    const auto config = preset(each.name);
    const auto millions = static_cast<double>(parameters(config, each.pre)) / 1e6;
    EXPECT_NEAR(millions, each.millions, each.millions > 1000 ? 0.05 : 0.005) << each.name;
    const auto scheme = bind(config.scheme, shape_of(config, 257));
    EXPECT_EQ(norm::norm_parameter_count(scheme), each.star) << each.name;
    const auto pad = config.model.pad_vocabulary_to;
    EXPECT_EQ((config.model.vocabulary + pad - 1) / pad * pad, each.rows) << each.name;
    EXPECT_EQ(config.train.tokens, each.tokens * 1'000'000'000) << each.name;
    EXPECT_EQ(config.scheme.name, "hybrid_norm_star") << each.name;
    EXPECT_TRUE(config.model.tied) << each.name;
  }
}

TEST(Presets, HaveTheLargestModelToo) {
  const auto config = preset("7b");
  EXPECT_NEAR(static_cast<double>(parameters(config, 65 * 4096)) / 1e6, 7298, 0.5);
  EXPECT_FALSE(config.model.tied);
  EXPECT_EQ(config.scheme.name, "hybrid_norm_7b");
  EXPECT_EQ(config.train.tokens, 150'000'000'000);
}

TEST(Presets, HaveThePapersRecipe) {
  for (const auto& name : presets()) {
    if (name == "tiny" || name == "nano" || name.starts_with("moe_")) continue;
    const auto config = preset(name);
    EXPECT_EQ(config.model.context * config.train.batch, 4'194'304) << name;
    EXPECT_EQ(config.schedule.peak, 3e-4) << name;
    EXPECT_DOUBLE_EQ(config.schedule.peak * config.schedule.floor, 3e-5) << name;
    EXPECT_EQ(config.schedule.warmup, (Length{2000, Length::Unit::steps})) << name;
    EXPECT_EQ(config.optimizer.beta2, 0.95) << name;
    EXPECT_TRUE(config.optimizer.decay_gains) << name;
    EXPECT_FALSE(config.optimizer.decay_embedding) << name;
    EXPECT_EQ(config.model.rope_theta, 500'000) << name;
    EXPECT_EQ(config.seed, 6198) << name;
  }
}

TEST(Presets, HaveThePapersMixture) {
  const auto config = preset("moe_1b_7b");
  EXPECT_EQ(config.experts.count, 64);
  EXPECT_EQ(config.experts.active, 8);
  EXPECT_FALSE(config.experts.renormalize);
  EXPECT_EQ(config.experts.balance, 0.01);
  EXPECT_EQ(config.experts.router_z, 0.001);
  EXPECT_EQ(config.train.tokens, 500'000'000'000);
  EXPECT_EQ(config.model.context * config.train.batch, 4'194'304);
  EXPECT_DOUBLE_EQ(config.schedule.peak * config.schedule.floor, 5e-5);
  EXPECT_EQ(config.schedule.start, 0.1);
  EXPECT_EQ(config.schedule.steps, 5'000'000'000'000 / 4'194'304 + 1);
  EXPECT_TRUE(config.optimizer.decay_embedding);
  EXPECT_FALSE(config.model.tied);
  EXPECT_EQ(config.model.rope_theta, 10'000);
}

TEST(Presets, HaveTheDefaultsInTiny) {
  Config defaults;
  defaults.scheme = find_scheme("hybrid_norm_star");
  EXPECT_TRUE(differences(preset("tiny"), defaults).empty());
}

TEST(Presets, HaveTheSmallComparisonInNano) {
  const auto config = preset("nano");
  EXPECT_EQ(config.model.layers, 4);
  EXPECT_EQ(config.model.width, 128);
  EXPECT_EQ(config.model.heads, 4);
  EXPECT_EQ(config.model.kv_heads, 4);
  EXPECT_EQ(config.model.inner, 352);
  EXPECT_EQ(config.model.context, 64);
  EXPECT_EQ(config.train.batch, 12);
  EXPECT_EQ(config.train.steps, 2000);
  EXPECT_EQ(config.schedule.kind, "cosine");
  EXPECT_EQ(config.schedule.peak, 1e-3);
  EXPECT_DOUBLE_EQ(config.schedule.peak * config.schedule.floor, 1e-4);
  EXPECT_EQ(config.schedule.warmup, (Length{100, Length::Unit::steps}));
  EXPECT_EQ(config.data.validation_fraction, 0.1);
  EXPECT_EQ(config.evaluate.sequences, 0);
}

}  // namespace
}  // namespace evenkeel::config
