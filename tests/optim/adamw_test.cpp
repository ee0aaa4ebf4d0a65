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

/// One embedding, one matrix and one gain, all ones, with zero gradients: only decay moves them.
nn::Parameters ones() {
  nn::Parameters parameters({{"embedding.weight", {2, 2}, ParameterRole::embedding},
                             {"blocks.0.attention.qkv.weight", {2, 2}, ParameterRole::matrix},
                             {"final_norm.gain", {2}, ParameterRole::gain}},
                            nn::Precision::float64);
  for (auto& group : parameters.groups()) group.master.fill_(1);
  return parameters;
}

std::vector<at::Tensor> gradients_of(const nn::Parameters& parameters) {
  std::vector<at::Tensor> all;
  for (const auto& group : parameters.groups()) all.push_back(group.gradient);
  return all;
}

// arXiv:2503.04598: matrices and norm gains decay, the embedding does not.
TEST(AdamW, DecaysMatricesAndGainsButNotTheEmbedding) {
  auto parameters = ones();
  optim::AdamW adamw({.weight_decay = 0.5}, parameters);
  adamw.update(gradients_of(parameters), 1, 0.1, 1);
  EXPECT_TRUE(close(parameters.groups()[0].master, torch::ones({4}, at::kDouble), 0, 0));
  EXPECT_TRUE(close(parameters.groups()[1].master, torch::full({4}, 0.95, at::kDouble), 1e-12, 0));
  EXPECT_TRUE(close(parameters.groups()[2].master, torch::full({2}, 0.95, at::kDouble), 1e-12, 0));
}

TEST(AdamW, DecaysWhatIsConfigured) {
  auto parameters = ones();
  optim::AdamW adamw({.weight_decay = 0.5, .decay_gains = false, .decay_embedding = true},
                     parameters);
  adamw.update(gradients_of(parameters), 1, 0.1, 1);
  EXPECT_TRUE(close(parameters.groups()[0].master, torch::full({4}, 0.95, at::kDouble), 1e-12, 0));
  EXPECT_TRUE(close(parameters.groups()[2].master, torch::ones({2}, at::kDouble), 0, 0));
}

// The first step of Adam moves every weight by lr * g / (|g| + epsilon).
TEST(AdamW, MovesByTheRateInItsFirstStep) {
  auto parameters = ones();
  parameters.groups()[2].gradient.fill_(-3);
  optim::AdamW adamw({.epsilon = 0, .weight_decay = 0}, parameters);
  adamw.update(gradients_of(parameters), 0.25, 0.1, 1);
  EXPECT_TRUE(close(parameters.groups()[2].master, torch::full({2}, 1.1, at::kDouble), 1e-12, 0));
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
