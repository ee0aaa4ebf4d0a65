// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/skip_budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace evenkeel::train {
namespace {

StepResult skipped_step(double loss) {
  return {.loss = loss, .gradient_norm = 1, .applied = false};
}

constexpr double kSkippedLoss = std::numeric_limits<double>::quiet_NaN();

TEST(ReasonToStop, IsNoneAfterAnUpdate) {
  const config::Health options{.on_spike = "stop", .on_nonfinite = "stop", .budget = 0};
  EXPECT_EQ(reason_to_stop(options, {.loss = 1, .applied = true}, 5), std::nullopt);
}

TEST(ReasonToStop, NamesTheKeyThatSaysStop) {
  const config::Health on_spike{.on_spike = "stop", .budget = 10};
  EXPECT_EQ(reason_to_stop(on_spike, skipped_step(9), 1), R"((health.on_spike is "stop"))");
  EXPECT_EQ(reason_to_stop(on_spike, skipped_step(kSkippedLoss), 1), std::nullopt);
  const config::Health on_nonfinite{.on_nonfinite = "stop", .budget = 10};
  EXPECT_EQ(reason_to_stop(on_nonfinite, skipped_step(kSkippedLoss), 1),
            R"((health.on_nonfinite is "stop"))");
  EXPECT_EQ(reason_to_stop(on_nonfinite, skipped_step(9), 1), std::nullopt);
}

TEST(ReasonToStop, IsTheBudgetOnceItIsSpent) {
  const config::Health options{.budget = 2};
  EXPECT_EQ(reason_to_stop(options, skipped_step(kSkippedLoss), 2), std::nullopt);
  EXPECT_EQ(reason_to_stop(options, skipped_step(kSkippedLoss), 3), "(health.budget is 2)");
}

}  // namespace
}  // namespace evenkeel::train
