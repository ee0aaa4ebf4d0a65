// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/operator_times.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace evenkeel::bench {
namespace {

TEST(SecondsByOperator, NamesWhatRan) {
  const auto x = at::randn({64, 64});
  const auto seconds = seconds_by_operator([&] { at::linear(x, x).tanh(); });
  EXPECT_GT(seconds.at("aten::tanh"), 0);
  EXPECT_TRUE(seconds.contains("aten::linear"));
  EXPECT_TRUE(seconds_by_operator([] {}).empty());
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
