// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/train/health/health_monitor.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

using testing::fixed_token_ids;
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

/// A monitor of steps with given losses and gradients, without training.
class MonitoredSteps {
 public:
  MonitoredSteps() {
    const auto ids = fixed_token_ids(2, 16).contiguous();
    const auto* const values = ids.const_data_ptr<std::int64_t>();
    batch_ = {{values, values + 32}, {values, values + 32}, 2, 32};
    for (const auto& group : tiny_.parameters->groups()) {
      gradients_.push_back(at::zeros_like(group.master));
    }
  }

  /// The kinds of the events of the next step, in which each gradient is `gradient`.
  std::vector<std::string> next(double loss, double gradient) {
    for (const auto& flat : gradients_) flat.fill_(gradient);
    monitor_.check_step({.step = ++step_, .batch = &batch_, .gradients = &gradients_},
                        {.loss = loss, .gradient_norm = 0.2});
    std::vector<std::string> kinds;
    for (const auto& event : monitor_.take()) kinds.push_back(event.kind);
    return kinds;
  }

  /// Steps until `last` without an event of a step.
  void until(std::int64_t last) {
    while (step_ < last) next(3 + 0.01 * static_cast<double>(step_ % 5), /*gradient=*/2);
  }

  /// The gradient norm of a matrix of 256 values in the last healthy step.
  double reference_norm() const {
    return monitor_.state().at("usual").at("blocks.0.attention.output.weight").at(1).get<double>();
  }

 private:
  TinyModel tiny_{"hybrid_norm_star"};
  HealthMonitor monitor_{{}, *tiny_.model, *tiny_.parameters, TinyModel::kPlannedSteps, 1};
  data::Batch batch_;
  std::vector<at::Tensor> gradients_;
  std::int64_t step_ = 0;
};

// Steps 1, 50 and 100 have health checks. A matrix of 256 values g has the norm 16 g.
TEST(HealthMonitor, TakesNoReferenceFromAStepWithASpike) {
  MonitoredSteps steps;
  steps.next(/*loss=*/3, /*gradient=*/1);
  EXPECT_DOUBLE_EQ(steps.reference_norm(), 16);
  steps.until(49);
  EXPECT_EQ(steps.next(/*loss=*/9, /*gradient=*/5), std::vector<std::string>{"spike"});
  EXPECT_DOUBLE_EQ(steps.reference_norm(), 16);
  steps.until(99);
  steps.next(/*loss=*/3, /*gradient=*/3);
  EXPECT_DOUBLE_EQ(steps.reference_norm(), 48);
}

}  // namespace
}  // namespace evenkeel::train
