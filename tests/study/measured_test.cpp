// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/measured.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::study {
namespace {

using Of = Measure::Of;

std::string refusal_of(Of of, const std::vector<std::string>& sets) {
  const auto config = config::resolve({.preset = {}, .files = {}, .scheme = {}, .sets = sets});
  try {
    check_measure({.of = of}, config, /*alone=*/false);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "";
}

TEST(Measured, OfAnswersIsTheShareThatIsWrong) {
  report::Run run;
  run.exact.add(100, 0.25);
  run.exact.add(200, 0.9);
  run.ood_exact.add(200, 0);
  EXPECT_NEAR(measured(run, {.of = Of::val_wrong}), 0.1, 1e-12);
  EXPECT_EQ(measured(run, {.of = Of::ood_wrong}), 1);
  EXPECT_TRUE(std::isnan(measured({}, {.of = Of::val_wrong})));
}

// The median, since single steps are disturbed; its logarithm, since times are compared by ratio.
TEST(Measured, OfTimesIsTheLogarithmOfTheMedianInMilliseconds) {
  report::Run run;
  for (const double seconds : {0.5, 0.02, 0.02, 0.03, 0.01}) {
    run.step_seconds.add(static_cast<double>(run.step_seconds.size()), seconds);
  }
  EXPECT_NEAR(milliseconds_of(run), 20, 1e-12);
  EXPECT_NEAR(measured(run, {.of = Of::step_time}), std::log(20), 1e-12);
  EXPECT_TRUE(std::isnan(measured({}, {.of = Of::step_time})));
}

// What is measured on decides, not what is trained on.
TEST(CheckMeasure, LooksAtTheTextThatIsValidatedWith) {
  const std::string file = "data.train=book.txt", sums = "data.validation=builtin:addition";
  EXPECT_EQ(refusal_of(Of::val_gap, {}), "");
  EXPECT_EQ(refusal_of(Of::val_gap, {file, sums}), "");
  EXPECT_EQ(refusal_of(Of::val_wrong, {file, sums}), "");
  EXPECT_EQ(refusal_of(Of::val_wrong, {"data.train=builtin:addition"}), "");
  EXPECT_EQ(refusal_of(Of::val_gap, {file}),
            "measure: \"val_gap\" is for built-in text, whose entropy is known, but the validation "
            "text is book.txt; take \"val_loss\"");
  EXPECT_EQ(refusal_of(Of::val_gap, {"data.validation=book.txt"}), refusal_of(Of::val_gap, {file}));
  EXPECT_EQ(refusal_of(Of::val_wrong, {"data.train=builtin:addition", "data.validation=book.txt"}),
            "measure: answers are counted in builtin:addition and builtin:addition_longer, but the "
            "text is book.txt");
  EXPECT_EQ(refusal_of(Of::ood_wrong, {"data.ood=builtin:addition_longer"}), "");
}

}  // namespace
}  // namespace evenkeel::study
