// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::study {
namespace {

using Kind = Measure::Kind;

std::string refusal_of(Kind kind, const std::vector<std::string>& sets) {
  const auto config = config::resolve({.preset = {}, .files = {}, .scheme = {}, .sets = sets});
  try {
    check_measure({.kind = kind}, config, /*exclusive=*/false);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "";
}

TEST(MeasuredValue, OfAnswersIsTheErrorRate) {
  report::Run run;
  run.exact_match.add(100, 0.25);
  run.exact_match.add(200, 0.9);
  run.ood_exact_match.add(200, 0);
  EXPECT_NEAR(measured_value(run, {.kind = Kind::val_wrong}), 0.1, 1e-12);
  EXPECT_EQ(measured_value(run, {.kind = Kind::ood_wrong}), 1);
  EXPECT_TRUE(std::isnan(measured_value({}, {.kind = Kind::val_wrong})));
}

TEST(MeasuredValue, OfATaskIsItsErrorRateOrLoss) {
  report::Run run;
  run.tasks = report::task_results(
      {{{"step", 9},
        {"label", "copa"},
        {"metric", "acc"},
        {"value", 0.75},
        {"headline", true},
        {"command", "train"}},
       {{"step", 9}, {"label", "copa"}, {"metric", "bpb"}, {"value", 1.5}},
       {{"step", 9}, {"label", "copa"}, {"metric", "ce_loss"}, {"value", 2.5}},
       {{"step", 9}, {"label", "copa"}, {"metric", "brier"}, {"value", 0.125}},
       {{"step", 9}, {"label", "copa"}, {"metric", "soft"}, {"value", 0.625}},
       {{"step", 9}, {"label", "copa"}, {"metric", "soft_log"}, {"value", -0.5}}});
  const auto value_of = [&](const char* task, const char* metric) {
    Measure measure{.kind = Kind::task};
    measure.task = task;
    measure.metric = metric;
    return measured_value(run, measure);
  };
  EXPECT_EQ(value_of("copa", ""), 0.25);
  EXPECT_EQ(value_of("copa", "acc"), 0.25);
  EXPECT_EQ(value_of("copa", "bpb"), 1.5);
  EXPECT_EQ(value_of("copa", "ce_loss"), 2.5);
  EXPECT_EQ(value_of("copa", "brier"), 0.125);
  EXPECT_EQ(value_of("copa", "soft"), 0.375);
  EXPECT_EQ(value_of("copa", "soft_log"), 0.5);
  EXPECT_TRUE(std::isnan(value_of("copa", "f1")));
  EXPECT_TRUE(std::isnan(value_of("piqa", "")));
}

TEST(CheckMeasure, WantsTheTaskAmongThoseOfTheRuns) {
  Measure measure{.kind = Kind::task};
  measure.task = "piqa";
  const auto check = [&](const std::string& tasks) {
    check_measure(
        measure,
        config::resolve(
            {.preset = {}, .files = {}, .scheme = {}, .sets = {"evaluate.tasks=" + tasks}}),
        /*exclusive=*/false);
  };
  check("[\"copa\", \"piqa\"]");
  check("paper_dense");
  EXPECT_THROW(check("copa"), Error);
}

/// A run of 100 steps with the validation losses 4, 3, 2.
report::Run run_with_a_curve() {
  report::Run run;
  run.steps = 100;
  for (int i = 0; i < 3; ++i) run.validation_loss.add(50.0 * i, 4 - i);
  for (int step = 10; step <= 100; step += 10) run.loss.add(step, 1.5);
  return run;
}

TEST(MeasuredValue, OfACurveIsAtTheNearestEvaluation) {
  const auto run = run_with_a_curve();
  const auto at = [&](double share) {
    Measure measure{.kind = Kind::loss_at};
    measure.share = share;
    return measured_value(run, measure);
  };
  EXPECT_EQ(at(0.1), 4);
  EXPECT_EQ(at(0.5), 3);
  EXPECT_EQ(at(0.7), 3);
  EXPECT_EQ(at(1), 2);
}

// A run that was stopped after 40 of 100 steps was evaluated there, too.
TEST(MeasuredValue, OfACurveLeavesOutTheEvaluationOfAStop) {
  auto run = run_with_a_curve();
  run.validation_loss = {};
  for (const double step : {0, 40, 50, 100})
    run.validation_loss.add(step, step == 40 ? 2.9 : 4 - step / 50);
  run.settings = {{"evaluate.every", "50"}};
  Measure at{.kind = Kind::loss_at};
  at.share = 0.4;
  EXPECT_EQ(measured_value(run, at), 3);
  Measure until{.kind = Kind::steps_to_loss};
  until.target = 2.95;
  EXPECT_NEAR(measured_value(run, until), 0.525, 1e-12);
}

TEST(MeasuredValue, OfATargetIsTheShareOfTheStepsUntilIt) {
  const auto run = run_with_a_curve();
  const auto until = [&](double target) {
    Measure measure{.kind = Kind::steps_to_loss};
    measure.target = target;
    return measured_value(run, measure);
  };
  EXPECT_EQ(until(5), 0);
  EXPECT_EQ(until(3), 0.5);
  EXPECT_EQ(until(2.5), 0.75);
  EXPECT_EQ(until(1), 1);
  EXPECT_EQ(measured_value(run, {.kind = Kind::generalization_gap}), 0.5);
}

TEST(MeasuredValue, OfAProbeReducesTheLayersOfItsStep) {
  report::Run run;
  run.layer_maps.push_back({.measure = "grad_norm", .part = "", .on = "training"});
  run.layer_maps.back().values[10] = {2, 4, 1};
  run.layer_maps.back().values[20] = {5, 5, 5};
  using Reduction = Measure::Reduction;
  const double slope = -std::log(2) / 2;  // of ln 2, 2 ln 2 and 0
  const std::vector<std::pair<Reduction, double>> expected = {
      {Reduction::slope, slope}, {Reduction::steepness, -slope}, {Reduction::spread, 4},
      {Reduction::mean, 7. / 3}, {Reduction::largest, 4},        {Reduction::first, 2},
      {Reduction::last, 1}};
  for (const auto& [reduction, wanted] : expected) {
    Measure measure{.kind = Kind::probe, .probe = "grad_norm", .step = 10};
    measure.reduction = reduction;
    EXPECT_NEAR(measured_value(run, measure), wanted, 1e-12) << static_cast<int>(reduction);
  }
  Measure newest{.kind = Kind::probe, .probe = "grad_norm"};
  newest.reduction = Reduction::first;
  EXPECT_EQ(measured_value(run, newest), 5);
}

TEST(MeasuredValue, OfADriftOrAChangeIsOverSteps) {
  report::Run run;
  run.layer_maps.push_back({.measure = "attention_entropy", .part = "", .on = "training"});
  auto& map = run.layer_maps.back();
  map.values[10] = {1, 3};  // mean 2
  map.values[20] = {4, 4};
  Measure measure{.kind = Kind::probe, .probe = "attention_entropy"};
  measure.reduction = Measure::Reduction::drift;
  EXPECT_NEAR(measured_value(run, measure), std::sqrt(2), 1e-12);
  measure.reduction = Measure::Reduction::change;
  EXPECT_NEAR(measured_value(run, measure), std::log(2), 1e-12);
  map.values.erase(20);
  EXPECT_TRUE(std::isnan(measured_value(run, measure)));
}

// The median, since single steps are disturbed; its logarithm, since times are compared by ratio.
TEST(MeasuredValue, OfTimesIsTheLogarithmOfTheMedianInMilliseconds) {
  report::Run run;
  for (const double seconds : {0.5, 0.02, 0.02, 0.03, 0.01}) {
    run.step_seconds.add(static_cast<double>(run.step_seconds.size()), seconds);
  }
  EXPECT_NEAR(median_step_milliseconds(run), 20, 1e-12);
  EXPECT_NEAR(measured_value(run, {.kind = Kind::step_time}), std::log(20), 1e-12);
  EXPECT_TRUE(std::isnan(measured_value({}, {.kind = Kind::step_time})));
}

// What is measured on decides, not what is trained on.
TEST(CheckMeasure, ChecksTheValidationText) {
  const std::string file = "data.train=book.txt", sums = "data.validation=builtin:addition";
  EXPECT_EQ(refusal_of(Kind::val_gap, {}), "");
  EXPECT_EQ(refusal_of(Kind::val_gap, {file, sums}), "");
  EXPECT_EQ(refusal_of(Kind::val_wrong, {file, sums}), "");
  EXPECT_EQ(refusal_of(Kind::val_wrong, {"data.train=builtin:addition"}), "");
  EXPECT_EQ(refusal_of(Kind::val_gap, {file}),
            "measure: \"val_gap\" is for built-in text, whose entropy is known, but the validation "
            "text is book.txt; take \"val_loss\"");
  EXPECT_EQ(refusal_of(Kind::val_gap, {"data.validation=book.txt"}),
            refusal_of(Kind::val_gap, {file}));
  EXPECT_EQ(
      refusal_of(Kind::val_wrong, {"data.train=builtin:addition", "data.validation=book.txt"}),
      "measure: answers are counted in builtin:addition and builtin:addition_longer, but the "
      "text is book.txt");
  EXPECT_EQ(refusal_of(Kind::ood_wrong, {"data.ood=builtin:addition_longer"}), "");
}

}  // namespace
}  // namespace evenkeel::study
