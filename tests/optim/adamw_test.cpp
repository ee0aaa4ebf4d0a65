// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/optim/adamw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "support/close.h"

namespace evenkeel {
namespace {

using nn::ParameterRole;
using testing::close;

/// One parameter of each role, all ones, with zero gradients: only decay moves them.
nn::Parameters ones() {
  nn::Parameters parameters({{"embedding.weight", {2, 2}, ParameterRole::embedding},
                             {"blocks.0.attention.qkv.weight", {2, 2}, ParameterRole::matrix},
                             {"blocks.0.feed_forward.router.weight", {3, 2}, ParameterRole::router},
                             {"final_norm.gain", {2}, ParameterRole::gain},
                             {"embedding_scale", {1}, ParameterRole::scale}},
                            nn::Precision::float64);
  for (auto& group : parameters.groups()) group.master.fill_(1);
  return parameters;
}

std::vector<at::Tensor> gradients_of(const nn::Parameters& parameters) {
  std::vector<at::Tensor> all;
  for (const auto& group : parameters.groups()) all.push_back(group.gradient);
  return all;
}

/// The value that all weights of each role have after one step of rate 0.1 and decay 0.5.
struct Decayed {
  double embedding, matrix, router, gain, scale;
};

void expect_decay(config::Optimizer options, const Decayed& expected) {
  auto parameters = ones();
  options.weight_decay = 0.5;
  optim::AdamW adamw(options, parameters);
  adamw.update(gradients_of(parameters), 1, 0.1, 1);
  const double of_role[] = {expected.embedding, expected.matrix, expected.router, expected.gain,
                            expected.scale};
  for (std::size_t i = 0; i < parameters.groups().size(); ++i) {
    const auto& master = parameters.groups()[i].master;
    EXPECT_TRUE(close(master, at::full_like(master, of_role[i]), 1e-12, 0)) << "group " << i;
  }
}

// arXiv:2503.04598: matrices and norm gains decay, the embedding does not. Routers decay as
// matrices do, learned scales as gains do.
TEST(AdamW, DecaysMatricesAndGainsButNotTheEmbedding) {
  expect_decay({}, {.embedding = 1, .matrix = 0.95, .router = 0.95, .gain = 0.95, .scale = 0.95});
}

TEST(AdamW, DecaysWhatIsConfigured) {
  expect_decay({.decay_gains = false, .decay_embedding = true},
               {.embedding = 0.95, .matrix = 0.95, .router = 0.95, .gain = 1, .scale = 1});
}

// The first step of Adam moves every weight by lr * g / (|g| + epsilon).
TEST(AdamW, MovesByTheRateInItsFirstStep) {
  auto parameters = ones();
  auto& gains = parameters.groups()[3];
  gains.gradient.fill_(-3);
  optim::AdamW adamw({.epsilon = 0, .weight_decay = 0}, parameters);
  adamw.update(gradients_of(parameters), 0.25, 0.1, 1);
  EXPECT_TRUE(close(gains.master, torch::full({2}, 1.1, at::kDouble), 1e-12, 0));
}

TEST(ClipScale, IsOneBelowTheLimit) {
  EXPECT_EQ(optim::clip_scale(0.5, 1), 1);
  EXPECT_DOUBLE_EQ(optim::clip_scale(4, 1), 1 / (4 + 1e-6));
  EXPECT_EQ(optim::clip_scale(4, 0), 1);
}

TEST(GradientNorm, CoversAllGroupsAndPropagatesNaN) {
  EXPECT_DOUBLE_EQ(optim::gradient_norm({torch::full({1}, 3.0), torch::full({1}, 4.0)}), 5);
  EXPECT_TRUE(std::isnan(optim::gradient_norm({torch::full({1}, std::nan(""))})));
}

}  // namespace
}  // namespace evenkeel
