// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/task_results.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/report/accuracy_difference.h"
#include "evenkeel/report/run.h"
#include "evenkeel/report/task_figures.h"

namespace evenkeel::report {
namespace {

using nlohmann::json;

/// The record of a task's own metric. \param correct  hexadecimal digits
json headline(double step, const std::string& label, double value, const std::string& correct) {
  return {{"step", step},       {"label", label},   {"rule", "olmo"}, {"metric", "acc"},
          {"value", value},     {"stderr", 0.01},   {"n", 6},         {"chance", 0.5},
          {"correct", correct}, {"headline", true}, {"ties", 0},      {"task_digest", "d"}};
}

Run run_with(const std::string& name, std::vector<json> records) {
  Run run;
  run.name = name;
  run.tasks = task_results(records);
  return run;
}

TEST(TaskResults, AreSeriesByStepAndTheLastStep) {
  auto bits = headline(20, "copa", 1.5, "");
  bits["metric"] = "bpb";
  bits.erase("headline");
  const auto results = task_results({headline(20, "copa", 0.5, "e0"),
                                     headline(10, "copa", 0.25, "80"),
                                     headline(20, "copa", 0.75, "fc"),
                                     bits,
                                     {{"step", 20}, {"label", "copa"}},
                                     {{"label", "copa"}, {"metric", "acc"}, {"value", 1}}});
  ASSERT_EQ(results.size(), 1U);
  const auto& copa = results.front();
  EXPECT_EQ(copa.headline, "acc");
  EXPECT_EQ(copa.metrics.at("acc").x, (std::vector<double>{10, 20}));
  EXPECT_EQ(copa.metrics.at("acc").y, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(copa.last("bpb"), 1.5);
  EXPECT_TRUE(std::isnan(copa.last("soft")));
  EXPECT_EQ(copa.chance, std::optional<double>(0.5));
  EXPECT_EQ(copa.is_correct, (std::vector<bool>{true, true, true, true, true, true}));
}

// `eval` may compute the same task in another precision.
TEST(TaskResults, OfTheTrainingStay) {
  auto of_training = headline(20, "copa", 0.5, "e0"), of_eval = headline(20, "copa", 0.75, "fc");
  of_training["command"] = "train";
  of_eval["command"] = "eval";
  auto later = headline(30, "copa", 1, "fc");
  later["command"] = "eval";
  for (const auto& records : {std::vector<json>{of_training, of_eval, later},
                              std::vector<json>{of_eval, of_training, later}}) {
    const auto results = task_results(records);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results.front().metrics.at("acc").y, (std::vector<double>{0.5, 1}));
  }
}

// A later result with other documents is another series, and a study reads what training recorded.
TEST(TaskResults, WithOtherConditionsAreOtherSeries) {
  auto of_training = headline(20, "copa", 0.5, "e0");
  of_training["command"] = "train";
  auto fewer = headline(20, "copa", 1, "8");
  fewer["n"] = 1;
  fewer["command"] = "eval";
  const auto results = task_results({of_training, fewer});
  ASSERT_EQ(results.size(), 2U);
  ASSERT_NE(find_of_training(results, "copa"), nullptr);
  EXPECT_EQ(find_of_training(results, "copa")->last("acc"), 0.5);
  EXPECT_EQ(find(results, results[1]), &results[1]);
  EXPECT_EQ(find_of_training(task_results({fewer}), "copa"), nullptr);
}

TEST(TaskResults, ReadBitsOfDocuments) {
  EXPECT_EQ(bits_of_hex("a4", 6), (std::vector<bool>{true, false, true, false, false, true}));
  EXPECT_TRUE(bits_of_hex("a", 6).empty());
  EXPECT_TRUE(bits_of_hex("ag", 6).empty());
  EXPECT_TRUE(bits_of_hex("A4", 6).empty());
}

// b = 3 and c = 1 of 6: difference 2/6; variance (4 - 4/6) / 36; p = 2 (4 + 1) / 16.
TEST(AccuracyDifference, IsPairedByDocument) {
  const auto paired = accuracy_difference({true, true, true, false, true, false},
                                          {false, false, false, true, true, false});
  EXPECT_EQ(paired.only_first, 3);
  EXPECT_EQ(paired.only_second, 1);
  EXPECT_DOUBLE_EQ(paired.difference, 2.0 / 6);
  EXPECT_DOUBLE_EQ(paired.standard_error, std::sqrt(4 - 4.0 / 6) / 6);
  EXPECT_NEAR(paired.p, 10.0 / 16, 1e-12);
  // b = 3.5, c = 1.5, n = 8: 0.25 -+ 1.96 sqrt(5 - 0.5) / 8.
  EXPECT_NEAR(paired.low(), 0.25 - 1.959964 * std::sqrt(4.5) / 8, 1e-6);
  EXPECT_NEAR(paired.high(), 0.25 + 1.959964 * std::sqrt(4.5) / 8, 1e-6);
}

TEST(AccuracyDifference, OfManyDocumentsHasAFiniteP) {
  std::vector<bool> first(20000), second(20000);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i % 2 == 0, second[i] = i % 2 == 1;
  EXPECT_NEAR(accuracy_difference(first, second).p, 1, 1e-9);
  second.assign(second.size(), false);
  const double p = accuracy_difference(first, second).p;
  EXPECT_TRUE(p >= 0 && p < 1e-100);
}

TEST(TaskFigures, CompareRunsDocumentByDocument) {
  const auto first = run_with("first", {headline(10, "copa", 0.5, "e0")});
  const auto second = run_with("second", {headline(10, "copa", 1.0, "fc")});
  const auto page = task_comparison({first, second});
  EXPECT_NE(page.find("second minus first"), std::string::npos) << page;
  EXPECT_NE(page.find("50.0 [-4.0, 79.0], p = 0.25"), std::string::npos) << page;
  auto other = headline(10, "copa", 1.0, "fc");
  other["task_digest"] = "other";
  const auto unpaired = task_comparison({first, run_with("third", {other})});
  EXPECT_EQ(unpaired.find("minus"), std::string::npos) << unpaired;
  EXPECT_EQ(task_comparison({report::Run{}, report::Run{}}), "");
}

TEST(TaskFigures, ShowCurvesOnlyOfSeveralSteps) {
  const auto once = run_with("a", {headline(10, "copa", 0.5, "e0")});
  EXPECT_EQ(task_figures(once).find("<svg"), std::string::npos);
  EXPECT_NE(task_figures(once).find("50.0 ± 1.0 %"), std::string::npos);
  const auto twice =
      run_with("a", {headline(10, "copa", 0.5, "e0"), headline(20, "copa", 0.5, "e0")});
  EXPECT_NE(task_figures(twice).find("<svg"), std::string::npos);
  EXPECT_EQ(task_figures(report::Run{}), "");
}

}  // namespace
}  // namespace evenkeel::report
