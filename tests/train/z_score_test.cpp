// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/z_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "evenkeel/train/console.h"

namespace evenkeel::train {
namespace {

TEST(ZScore, NeedsAFullWindow) {
  ZScore score;
  for (int i = 0; i < 127; ++i) EXPECT_FALSE(score.observe(i % 2));
  EXPECT_DOUBLE_EQ(score.observe(1).value(), 1);  // mean 1/2, deviation 1/2
  EXPECT_DOUBLE_EQ(score.observe(0).value(), -1);
  EXPECT_FALSE(score.observe(NAN));
  EXPECT_FALSE(score.observe(INFINITY));
  EXPECT_DOUBLE_EQ(score.observe(1).value(), 1) << "they are not in the window";
}

TEST(ZScore, OfEqualValuesIsZero) {
  ZScore score;
  for (int i = 0; i < 128; ++i) score.observe(2);
  EXPECT_EQ(score.observe(2), 0);
}

// 127 zeros and x: mean x / 128, variance x^2 / 128 (1 - 1 / 128).
TEST(ZScore, OfASpikeIsThatOfTheWindowWithIt) {
  ZScore score;
  for (int i = 0; i < 127; ++i) score.observe(0);
  EXPECT_NEAR(score.observe(5).value(), std::sqrt(127.0), 1e-12);
}

TEST(ProgressLineText, HasWhatIsKnown) {
  const ProgressLine line = {.step = 120,
                             .steps = 400,
                             .loss = 1.2344,
                             .rate = 0.0029,
                             .gradient_norm = 0.52,
                             .tokens_per_second = 18200,
                             .seconds_left = 42};
  EXPECT_EQ(line_of(line),
            "step 120/400 (30 %, 0:42 left)  loss 1.234  |g| 0.52  lr 2.9e-03  18.2k tok/s");
  auto all = line;
  all.loss_z = 0.31;
  all.gradient_z = -1.25;
  all.val_loss = 1.5;
  all.gap = 0.25;
  EXPECT_EQ(line_of(all),
            "step 120/400 (30 %, 0:42 left)  loss 1.234 (+0.3z)  val 1.500  gap 0.250  "
            "|g| 0.52 (-1.2z)  lr 2.9e-03  18.2k tok/s");
}

// printf writes a NaN with its sign, which has no meaning.
TEST(ProgressLineText, HasNoSignOfNan) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      line_of({.step = 1,
               .steps = 2,
               .loss = -kNan,
               .val_loss = -kNan,
               .gap = kNan,
               .rate = 0.001,
               .gradient_norm = -kNan,
               .tokens_per_second = 10,
               .seconds_left = 1}),
      "step 1/2 (50 %, 0:01 left)  loss nan  val nan  gap nan  |g| nan  lr 1.0e-03  10 tok/s");
}

}  // namespace
}  // namespace evenkeel::train
