// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "evenkeel/train/health/health_monitor.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

using testing::TinyModel;

// Every field differs from that of a new monitor.
constexpr const char* kState = R"({
  "losses": [3.5, 3.25],
  "gradients": [0.5, 0.75, 0.25],
  "gradient_told": 42,
  "first_loss": 4.5,
  "first_scores": [1.5, 2.5, 3.5],
  "were_alike": true,
  "explosion_told": true,
  "told": ["dead_gain 2 a.gain", "logits 3 "],
  "usual": {"a.weight": [1.25, 0.125], "b.weight": [2.5, 4.0]}
})";

TEST(HealthMonitor, RestoresEveryFieldOfItsState) {
  const TinyModel tiny("hybrid_norm_star", nn::Precision::float32);
  const auto state = nlohmann::json::parse(kState);
  HealthMonitor monitor({}, *tiny.model, *tiny.parameters, TinyModel::kPlannedSteps, 1);
  const auto fresh = monitor.state();
  EXPECT_EQ(fresh.size(), state.size());
  for (const auto& [field, value] : fresh.items()) EXPECT_NE(state.at(field), value) << field;
  monitor.restore(state);
  EXPECT_EQ(monitor.state(), state);
}

}  // namespace
}  // namespace evenkeel::train
