// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/initialize.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/nn/parameter_specs.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

const norm::Shape kShape{.layers = 4,
                         .width = 128,
                         .heads = 4,
                         .kv_heads = 2,
                         .inner = 352,
                         .vocabulary = 257,
                         .context = 64};

constexpr std::int64_t kSteps = 1000;

/// Standard deviation of one tensor times sqrt(2.5 d): 1 for the paper's "normal" before
/// truncation.
double deviation(const std::string& scheme_name, const std::string& init, const std::string& tensor,
                 std::int64_t first = 0, std::int64_t rows = -1) {
  const auto scheme = config::bind(config::find_scheme(scheme_name), kShape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, true), nn::Precision::float32);
  nn::initialize(parameters, scheme, init, 1, kSteps);
  auto weight = parameters.at(tensor).master;
  if (rows > 0) weight = weight.narrow(0, first, rows);
  return weight.std().item<double>() * std::sqrt(2.5 * 128);
}

constexpr double kCutAtThree = 0.98658;  // of a standard normal
constexpr double kTolerance = 0.015;     // three standard errors of the smallest matrix here

TEST(Initialize, DrawsThePapersNormal) {
  EXPECT_NEAR(deviation("pre_norm", "normal", "blocks.0.attention.qkv.weight"), kCutAtThree,
              kTolerance);
  EXPECT_NEAR(deviation("pre_norm", "normal", "embedding.weight"), kCutAtThree, kTolerance);
  EXPECT_NEAR(deviation("pre_norm", "normal", "blocks.3.feed_forward.down.weight"), kCutAtThree,
              kTolerance);
}

// arXiv:2503.04598, section 5.3: Megatron divides output and down by sqrt(2 L), Depth-Scaled by
// sqrt(2 l).
TEST(Initialize, ScalesTheTwoOutputMatricesByDepth) {
  const double whole = std::sqrt(8.0);
  EXPECT_NEAR(deviation("hybrid_norm", "scheme", "blocks.1.attention.output.weight") * whole,
              kCutAtThree, kTolerance);
  EXPECT_NEAR(deviation("pre_norm", "megatron", "blocks.1.feed_forward.down.weight") * whole,
              kCutAtThree, kTolerance);
  EXPECT_NEAR(deviation("pre_norm", "depth_scaled", "blocks.1.attention.output.weight") * 2,
              kCutAtThree, kTolerance);
  EXPECT_NEAR(deviation("pre_norm", "megatron", "blocks.1.feed_forward.up_gate.weight"),
              kCutAtThree, kTolerance);
}

/// Standard deviation of an untied head times sqrt(d).
double head_deviation(const norm::Experts& experts, const std::string& init) {
  auto shape = kShape;
  shape.experts = experts;
  const auto scheme = config::bind(config::find_scheme("pre_norm"), shape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, /*tied=*/false),
                            nn::Precision::float32);
  nn::initialize(parameters, scheme, init, 1, kSteps);
  return parameters.at("head.weight").master.std().item<double>() * std::sqrt(128.0);
}

// A mixture of experts has the deviation 1/sqrt(d) in its head, unless model.init says otherwise.
TEST(Initialize, DrawsTheHeadOfAMixtureWider) {
  const norm::Experts mixture = {.count = 4, .active = 2};
  const double dense = kCutAtThree / std::sqrt(2.5);
  EXPECT_NEAR(head_deviation(mixture, "scheme"), kCutAtThree, kTolerance);
  EXPECT_NEAR(head_deviation(mixture, "normal"), dense, kTolerance);
  EXPECT_NEAR(head_deviation({}, "scheme"), dense, kTolerance);
}

/// Standard deviation of the router of block 2 of 2, of 64 experts, times sqrt(2.5 d).
double router_deviation(const std::string& scheme_name, const std::string& init) {
  auto shape = kShape;
  shape.layers = 2;
  shape.inner = 8;
  shape.experts = {.count = 64, .active = 2};
  const auto scheme = config::bind(config::find_scheme(scheme_name), shape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, /*tied=*/false),
                            nn::Precision::float32);
  nn::initialize(parameters, scheme, init, 1, kSteps);
  const auto& router = parameters.at("blocks.1.feed_forward.router.weight").master;
  EXPECT_EQ(router.numel(), 64 * 128);
  return router.std().item<double>() * std::sqrt(2.5 * 128);
}

// A router has the distribution of the matrices, and no factor of depth.
TEST(Initialize, DrawsRoutersAsOtherMatrices) {
  constexpr double kRouterTolerance = 0.03;  // four standard errors of 8,192 values
  EXPECT_NEAR(router_deviation("pre_norm", "scheme"), kCutAtThree, kRouterTolerance);
  EXPECT_NEAR(router_deviation("hybrid_norm", "scheme"), kCutAtThree, kRouterTolerance);
  EXPECT_NEAR(router_deviation("pre_norm", "megatron"), kCutAtThree, kRouterTolerance);
  EXPECT_NEAR(router_deviation("pre_norm", "depth_scaled"), kCutAtThree, kRouterTolerance);
  const double wide = 0.5 * std::sqrt(2.5 * 128);
  EXPECT_NEAR(router_deviation("pre_norm", "normal(0.5)") / wide, 1, kRouterTolerance);
}

// arXiv:2203.00555: beta = (8 N)^(-1/4) on v, output and feed-forward, 1 on q and k, Xavier.
TEST(Initialize, ScalesSomeRowsOfAStoredMatrixOnly) {
  const double beta = std::pow(32.0, -0.25);
  const double to_xavier = std::sqrt(2.5 * 128);
  const double query = std::sqrt(2.0 / (128 + 128)) * to_xavier;
  const double key = std::sqrt(2.0 / (64 + 128)) * to_xavier;
  const auto* const qkv = "blocks.2.attention.qkv.weight";
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 0, 128) / query, 1, kTolerance);
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 128, 64) / key, 1, 2 * kTolerance);
  EXPECT_NEAR(deviation("deep_norm", "scheme", qkv, 192, 64) / key, beta, 2 * kTolerance);
}

TEST(Initialize, CutsAtThreeDeviations) {
  const auto scheme = config::bind(config::find_scheme("pre_norm"), kShape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, true), nn::Precision::float32);
  nn::initialize(parameters, scheme, "normal", 1, kSteps);
  const auto largest = parameters.groups()[1].master.abs().max().item<double>();
  EXPECT_LE(largest * std::sqrt(2.5 * 128), 3);
  EXPECT_GT(largest * std::sqrt(2.5 * 128), 2.99);
}

at::Tensor embedding_under(const std::string& init) {
  const auto scheme = config::bind(config::find_scheme("pre_norm"), kShape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, true), nn::Precision::float64);
  nn::initialize(parameters, scheme, init, 1, kSteps);
  return parameters.at("embedding.weight").master;
}

// A standard normal truncated at k has the variance 1 - 2 k phi(k) / (2 Phi(k) - 1), which tends to
// k^2/3 for k -> 0.
TEST(Initialize, DrawsATruncatedNormalHoweverNarrow) {
  constexpr double kError = 0.01;  // three standard errors of 40,960 values
  const auto relative = [](double k) {
    const auto drawn = embedding_under("trunc_normal(2, " + std::to_string(k) + ")") / 2;
    EXPECT_LE(drawn.abs().max().item<double>(), k);
    EXPECT_NEAR(drawn.mean().item<double>() / k, 0, kError);
    return drawn.square().mean().item<double>() / (k * k);
  };
  for (const double k : {0.5, 0.999, 1.0, 2.0}) {
    const double density = std::exp(-k * k / 2) / std::sqrt(2 * std::numbers::pi);
    const double variance = 1 - 2 * k * density / std::erf(k / std::sqrt(2.0));
    EXPECT_NEAR(relative(k) / (variance / (k * k)), 1, kError * 2) << k;
  }
  const auto narrow = embedding_under("trunc_normal(0.02, 1e-7)");
  EXPECT_LE(narrow.abs().max().item<double>(), 0.02 * 1e-7);
  EXPECT_NEAR(narrow.square().mean().item<double>() / (4e-18 / 3), 1, kError * 2);
}

// The random numbers of a seed never change: the first values of seed 1.
TEST(Initialize, KeepsTheBitsOfTheCutAtThree) {
  const auto drawn = embedding_under("trunc_normal(1, 3)").flatten();
  EXPECT_DOUBLE_EQ(drawn[0].item<double>(), -1.8780415647770954);
  EXPECT_DOUBLE_EQ(drawn[1].item<double>(), -0.76010941638916174);
  EXPECT_DOUBLE_EQ(drawn[2].item<double>(), 0.54598874770413763);
}

// gain_init, gain_form and stored_at decide the initial value of a gain; a bias starts at 0.
TEST(Initialize, FillsGainsWithWhatTheSchemeStates) {
  const auto source = config::inline_scheme(
      "extends = \"pre_norm\"\n"
      "norm_parameters = \"N*3*d + d\"\n"
      "final = { gain_init = \"width/64\", gain_form = \"1+w\" }\n"
      "attention.input = { kind = \"layer_norm\", gain_init = \"1/l\" }\n"
      "feed_forward.input = { gain_init = 3, stored_at = \"1/T\" }\n",
      ".");
  const auto scheme = config::bind(source, kShape);
  nn::Parameters parameters(nn::parameter_specs(scheme, 320, true), nn::Precision::float64);
  for (auto& group : parameters.groups()) group.master.fill_(7);
  nn::initialize(parameters, scheme, "normal", 1, kSteps);
  const auto all = [&](const std::string& name, double value) {
    const auto& master = parameters.at(name).master;
    return master.equal(at::full_like(master, value));
  };
  EXPECT_TRUE(all("final_norm.gain", 1));
  EXPECT_TRUE(all("blocks.3.attention.input_norm.gain", 0.25));
  EXPECT_TRUE(all("blocks.3.attention.input_norm.bias", 0));
  EXPECT_TRUE(all("blocks.0.feed_forward.input_norm.gain", 0.001));
}

/// Expects that initialize() overwrites masters and values that are NaN before.
void expect_all_set(const norm::Scheme& scheme, nn::Precision precision, const std::string& init) {
  nn::Parameters parameters(nn::parameter_specs(scheme, 40, /*tied=*/false), precision);
  for (auto& group : parameters.groups()) {
    group.master.fill_(std::nan(""));
    group.value.fill_(std::nan(""));
  }
  nn::initialize(parameters, scheme, init, 1, kSteps);
  for (const auto& each : parameters.all()) {
    EXPECT_TRUE(each.master.isfinite().all().item<bool>()) << each.name;
    EXPECT_TRUE(each.value.isfinite().all().item<bool>()) << each.name;
  }
}

// The constructor of Parameters leaves them uninitialized.
TEST(Initialize, OverwritesEveryValueOfEveryScheme) {
  auto small = testing::tiny_shape(3);
  for (const auto& name : config::catalogue()) {
    SCOPED_TRACE(name);
    const auto scheme = config::bind(config::find_scheme(name), small);
    expect_all_set(scheme, nn::Precision::float32, "scheme");
    expect_all_set(scheme, nn::Precision::bfloat16, "megatron");
  }
  small.experts = {.count = 4, .active = 2, .shared = 1, .dense_layers = 1};
  for (const char* const name : {"pre_norm", "hybrid_norm_star", "weight_norm"}) {
    SCOPED_TRACE(name);
    expect_all_set(config::bind(config::find_scheme(name), small), nn::Precision::bfloat16,
                   "scheme");
  }
}

// At the start weight_norm gives W = V, and sigma_reparam W = V/sigma, where sigma is slightly
// below the largest singular value.
TEST(Initialize, StartsReparameterizedWeightsNearTheStoredOnes) {
  const auto start = [](const std::string& name) {
    const auto scheme = config::bind(config::find_scheme(name), kShape);
    auto parameters = std::make_unique<nn::Parameters>(nn::parameter_specs(scheme, 320, true),
                                                       nn::Precision::float64);
    nn::initialize(*parameters, scheme, "scheme", 1, kSteps);
    return parameters;
  };
  const auto normed = start("weight_norm");
  const auto down = normed->at("blocks.0.feed_forward.down.weight").master;
  EXPECT_TRUE(normed->at("blocks.0.feed_forward.down.row_gain").master.allclose(down.norm(2, -1)));
  const auto divided = start("sigma_reparam");
  const auto v = divided->at("blocks.1.attention.qkv.weight").master.narrow(0, 0, 128);
  const auto left = divided->find_state("blocks.1.attention.q.left");
  const auto right = divided->find_state("blocks.1.attention.q.right");
  const auto sigma = at::dot(left, at::mv(v, right)).item<double>();
  const auto largest = std::get<1>(at::linalg_svd(v)).max().item<double>();
  EXPECT_GT(sigma, 0.6 * largest);
  EXPECT_LE(sigma, largest);
}

TEST(Initialize, IsAFunctionOfTheSeedAndTheNameOnly) {
  const auto draw = [](std::uint64_t seed, int threads, std::int64_t layers) {
    at::set_num_threads(threads);
    auto shape = kShape;
    shape.layers = layers;
    const auto scheme = config::bind(config::find_scheme("pre_norm"), shape);
    nn::Parameters parameters(nn::parameter_specs(scheme, 320, true), nn::Precision::float32);
    nn::initialize(parameters, scheme, "normal", seed, kSteps);
    return parameters.at("blocks.1.attention.qkv.weight").master.clone();
  };
  EXPECT_TRUE(draw(1, 1, 2).equal(draw(1, 2, 4)));
  EXPECT_FALSE(draw(1, 1, 2).equal(draw(2, 1, 2)));
}

}  // namespace
}  // namespace evenkeel
