// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/operator_times.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace evenkeel::bench {
namespace {

TEST(OperatorTimes, NamesWhatRan) {
  const auto x = at::randn({64, 64});
  const auto times = operator_times([&] { at::linear(x, x).tanh(); });
  EXPECT_GT(times.seconds.at("aten::tanh"), 0);
  EXPECT_TRUE(times.seconds.contains("aten::linear"));
  EXPECT_GE(times.elapsed, times.seconds.at("aten::tanh") + times.seconds.at("aten::linear"));
  EXPECT_TRUE(operator_times([] {}).seconds.empty());
}

// Two threads would have twice the time.
TEST(OperatorTimes, AreThoseOfTheCallingThread) {
  const auto x = at::randn({64, 64});
  const int threads = at::get_num_threads();
  at::set_num_threads(2);
  const auto times = operator_times(
      [&] { at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) { at::mm(x, x); }); });
  at::set_num_threads(threads);
  EXPECT_TRUE(times.seconds.empty());
}

// Of 2 s on 3 threads with 4 s of CPU time, two threads wait for 1 s.
TEST(OperatorTimes, AreSerialWhereThreadsWait) {
  const OperatorTimes times{.seconds = {{"whole", 1}, {"one", 2}},
                            .cpu_seconds = {{"whole", 3}, {"one", 4}},
                            .elapsed = 3.5,
                            .cpu = 7.5};
  const auto serial = times.serial_seconds(3);
  EXPECT_DOUBLE_EQ(serial.at("whole"), 0);
  EXPECT_DOUBLE_EQ(serial.at("one"), 1);
  EXPECT_DOUBLE_EQ(serial.at("between"), 0.5);  // half a second of one thread
}

TEST(StepPartOf, KnowsTheOperatorsOfAStep) {
  EXPECT_EQ(step_part_of("evenkeel::add_weight_gradient_"), "products");
  EXPECT_EQ(step_part_of("aten::mm"), "products");
  EXPECT_EQ(step_part_of("aten::linear"), "products");
  EXPECT_EQ(step_part_of("aten::_scaled_dot_product_flash_attention_for_cpu_backward"),
            "attention");
  EXPECT_EQ(step_part_of("evenkeel::add_rms_norm_forward"), "norms");
  EXPECT_EQ(step_part_of("evenkeel::qkv_norm_rope_backward"), "norms");
  EXPECT_EQ(step_part_of("evenkeel::linear_cross_entropy_forward"), "loss");
  EXPECT_EQ(step_part_of("evenkeel::cross_entropy_rows_"), "loss");
  EXPECT_EQ(step_part_of("evenkeel::adamw_"), "optimizer");
  EXPECT_EQ(step_part_of("evenkeel::swiglu_forward"), "activation");
  EXPECT_EQ(step_part_of("aten::add_"), "other");
}

}  // namespace
}  // namespace evenkeel::bench
