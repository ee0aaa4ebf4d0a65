// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/initialize.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/config/scheme.h"
#include "evenkeel/nn/declare.h"

namespace evenkeel {
namespace {

const norm::Shape kShape{.layers = 4,
                         .width = 128,
                         .heads = 4,
                         .kv_heads = 2,
                         .inner = 352,
                         .vocabulary = 257,
                         .context = 64};

/// Standard deviation of one tensor times sqrt(2.5 d): 1 for the paper's "normal", but for the cut.
double deviation(const std::string& scheme_name, const std::string& init, const std::string& tensor,
                 std::int64_t first = 0, std::int64_t rows = -1) {
  const auto scheme = config::bind(config::find_scheme(scheme_name), kShape);
  nn::Parameters parameters(nn::declare(scheme, 320, true), nn::Precision::float32);
  nn::initialize(parameters, scheme, init, 1);
  auto weight = parameters.at(tensor).master;
  if (rows > 0) weight = weight.narrow(0, first, rows);
  return weight.std().item<double>() * std::sqrt(2.5 * 128);
}

constexpr double kCutAtThree = 0.98658;  // of a standard normal
constexpr double kNear = 0.015;          // three standard errors of the smallest matrix here

TEST(Initialize, DrawsThePapersNormal) {
  EXPECT_NEAR(deviation("pre_norm", "normal", "blocks.0.attention.qkv.weight"), kCutAtThree, kNear);
  EXPECT_NEAR(deviation("pre_norm", "normal", "embedding.weight"), kCutAtThree, kNear);
  EXPECT_NEAR(deviation("pre_norm", "normal", "blocks.3.feed_forward.down.weight"), kCutAtThree,
              kNear);
}

// arXiv:2503.04598, section 5.3: Megatron divides output and down by sqrt(2 L), Depth-Scaled by
// sqrt(2 l).
TEST(Initialize, ScalesTheTwoOutputMatricesByDepth) {
  const double whole = std::sqrt(8.0);
  EXPECT_NEAR(deviation("hybrid_norm", "scheme", "blocks.1.attention.output.weight") * whole,
              kCutAtThree, kNear);
  EXPECT_NEAR(deviation("pre_norm", "megatron", "blocks.1.feed_forward.down.weight") * whole,
              kCutAtThree, kNear);
  EXPECT_NEAR(deviation("pre_norm", "depth_scaled", "blocks.1.attention.output.weight") * 2,
              kCutAtThree, kNear);
  EXPECT_NEAR(deviation("pre_norm", "megatron", "blocks.1.feed_forward.up_gate.weight"),
              kCutAtThree, kNear);
}

// arXiv:2203.00555: beta = (8 N)^(-1/4) on v, output and feed-forward, 1 on q and k, Xavier.
TEST(Initialize, ScalesSomeRowsOfAStoredMatrixOnly) {
  const double beta = std::pow(32.0, -0.25);
  const double to_xavier = std::sqrt(2.5 * 128);
  const double query = std::sqrt(2.0 / (128 + 128)) * to_xavier;
  const double key = std::sqrt(2.0 / (64 + 128)) * to_xavier;
  const auto* const qkv = "blocks.2.attention.qkv.weight";
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 0, 128) / query, 1, kNear);
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 128, 64) / key, 1, 2 * kNear);
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 192, 64) / key, beta, 2 * kNear);
}

TEST(Initialize, CutsAtThreeDeviations) {
  const auto scheme = config::bind(config::find_scheme("pre_norm"), kShape);
  nn::Parameters parameters(nn::declare(scheme, 320, true), nn::Precision::float32);
  nn::initialize(parameters, scheme, "normal", 1);
  const auto largest = parameters.groups()[1].master.abs().max().item<double>();
  EXPECT_LE(largest * std::sqrt(2.5 * 128), 3);
  EXPECT_GT(largest * std::sqrt(2.5 * 128), 2.99);
}

TEST(Initialize, IsAFunctionOfTheSeedAndTheNameOnly) {
  const auto draw = [](std::uint64_t seed, int threads, std::int64_t layers) {
    at::set_num_threads(threads);
    auto shape = kShape;
    shape.layers = layers;
    const auto scheme = config::bind(config::find_scheme("pre_norm"), shape);
    nn::Parameters parameters(nn::declare(scheme, 320, true), nn::Precision::float32);
    nn::initialize(parameters, scheme, "normal", seed);
    return parameters.at("blocks.1.attention.qkv.weight").master.clone();
  };
  EXPECT_TRUE(draw(1, 1, 2).equal(draw(1, 2, 4)));
  EXPECT_FALSE(draw(1, 1, 2).equal(draw(2, 1, 2)));
}

}  // namespace
}  // namespace evenkeel
