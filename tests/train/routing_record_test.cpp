// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "evenkeel/train/learner.h"

namespace evenkeel::train {
namespace {

/// A step of three routers with two experts each. The loads of the largest expert are 1, 1.2 and
/// 1.8 in units of the mean.
StepResult step_of_three_routers() {
  StepResult step;
  step.balance_loss = 1.5;
  step.router_z_loss = 0.25;
  step.routing = {.blocks = {1, 2, 3},
                  .tokens = {{5, 5}, {4, 6}, {9, 1}},
                  .entropy = {0.25, 0.5, 0.75},
                  .largest_logit = {2, 3, 8}};
  step.expert_choices = 30;
  return step;
}

// The largest value may be that of any router: the first, the second or the last.
TEST(RoutingRecord, HasTheLargestLoadAndLogitOfAllRouters) {
  auto step = step_of_three_routers();
  for (int turn = 0; turn < 3; ++turn) {
    const auto record = routing_record(step);
    EXPECT_DOUBLE_EQ(record.at("load_max").get<double>(), 1.8) << turn;
    EXPECT_EQ(record.at("router_logit_max").get<double>(), 8) << turn;
    auto& tokens = step.routing.tokens;
    auto& logits = step.routing.largest_logit;
    std::rotate(tokens.begin(), tokens.begin() + 1, tokens.end());
    std::rotate(logits.begin(), logits.begin() + 1, logits.end());
  }
}

TEST(RoutingRecord, HasTheMeansOverRouters) {
  auto step = step_of_three_routers();
  step.routing.tokens = {{10, 0}, {4, 6}, {0, 10}};
  const auto record = routing_record(step);
  EXPECT_DOUBLE_EQ(record.at("dead_experts").get<double>(), (0.5 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(record.at("routing_entropy").get<double>(), 0.5);
  EXPECT_EQ(record.at("balance_loss").get<double>(), 1.5);
  EXPECT_EQ(record.at("router_z_loss").get<double>(), 0.25);
}

TEST(RoutingRecord, CountsChoicesThatReachedNoExpert) {
  auto step = step_of_three_routers();
  EXPECT_EQ(routing_record(step).at("dropped").get<std::int64_t>(), 0);
  step.expert_choices = 32;
  EXPECT_EQ(routing_record(step).at("dropped").get<std::int64_t>(), 2);
}

TEST(RoutingRecord, IsEmptyIfALogitOfAnyRouterIsNotFinite) {
  for (std::size_t i = 0; i < 3; ++i) {
    auto step = step_of_three_routers();
    step.routing.largest_logit[i] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(routing_record(step).empty()) << i;
  }
}

}  // namespace
}  // namespace evenkeel::train
