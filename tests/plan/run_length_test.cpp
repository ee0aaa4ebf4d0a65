// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/run_length.h"

#include <gtest/gtest.h>

namespace evenkeel::plan {
namespace {

config::Config config_with(std::int64_t batch, std::int64_t tokens) {
  config::Config config;
  config.model.context = 32;
  config.train.batch = batch;
  config.train.steps = 0;
  config.train.tokens = tokens;
  return config;
}

TEST(StepsOf, CountsTokensInWholeBatches) {
  EXPECT_EQ(steps_of(config_with(2, 640)), 10);
  EXPECT_EQ(steps_of(config_with(2, 641)), 11);
}

TEST(StepsOf, CountsTheTokensThatAreLeftInBatchesOfTheirSize) {
  const Done done{.step = 20, .tokens = 20 * 8 * 32};
  EXPECT_EQ(steps_of(config_with(8, 40 * 8 * 32), done), 40);
  EXPECT_EQ(steps_of(config_with(16, 40 * 8 * 32), done), 30);
  EXPECT_EQ(steps_of(config_with(4, 40 * 8 * 32), done), 60);
  EXPECT_EQ(steps_of(config_with(16, 40 * 8 * 32 + 1), done), 31);
  EXPECT_EQ(steps_of(config_with(8, 10 * 8 * 32), done), 20);
}

TEST(StepsOf, AreTrainStepsIfTheyAreSet) {
  auto config = config_with(8, 0);
  config.train.steps = 7;
  EXPECT_EQ(steps_of(config, {.step = 5, .tokens = 100}), 7);
}

}  // namespace
}  // namespace evenkeel::plan
