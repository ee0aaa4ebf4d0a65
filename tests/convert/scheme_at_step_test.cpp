// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/scheme_at_step.h"

#include <gtest/gtest.h>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

TEST(SchemeAtStep, HasNumbersInPlaceOfTheStep) {
  const auto fixed = scheme_at_step(config::find_scheme("prores"), {.done = 250, .planned = 900});
  const auto scheme = config::bind(fixed, small_shape());
  const auto scale = std::get<norm::Expression>(scheme.blocks[1].attention.add.branch_scale);
  EXPECT_EQ(scale.formula(), "min(250/(1000*l), 1)");
  EXPECT_EQ(scale.value(small_shape().variables_of_block(2)), 0.125);
  const auto renorm = config::bind(
      scheme_at_step(config::find_scheme("batch_renorm"), {.done = 12500, .planned = 1}),
      small_shape());
  EXPECT_EQ(renorm.final->shift_max.value({}), 1.875);
}

TEST(SchemeAtStep, IsTheSchemeItselfWithoutSteps) {
  const auto scheme = config::find_scheme("hybrid_norm_star");
  EXPECT_TRUE(config::is_of_catalogue(scheme_at_step(scheme, {.done = 5, .planned = 9})));
}

}  // namespace
}  // namespace evenkeel::convert
