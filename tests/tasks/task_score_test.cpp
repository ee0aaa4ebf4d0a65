// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/task_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel {
namespace {

using tasks::Metric;
using tasks::RowScore;
using tasks::Rule;
using tasks::Task;
using tasks::TaskScore;

/// Three documents. Choices in characters without the space, and bytes: 2, 4 and 5, 5 | 2, 6 and
/// 1, 1 | 4, 4 and 2, 2.
Task three_documents(Metric metric) {
  Task task{.label = "three", .metric = metric};
  task.documents = {{0, {{"c", " \u00e9\u00e9"}, {"c", " abcde"}}, 1, "easy"},
                    {1, {{"c", " \u65e5\u672c"}, {"c", " x"}}, 0, "hard"},
                    {2, {{"c", " abcd"}, {"c", " ab"}}, 0, "easy"}};
  return task;
}

/// By sums the choices 0, 1 (a tie of document 2 goes to 0); by characters 1, 0, 0.
const std::vector<RowScore> kScores = {{-4, false}, {-5, false}, {-3, false},
                                       {-2, false}, {-6, false}, {-6, false}};

double metric_of(const TaskScore& score, const std::string& name) {
  for (const auto& each : score.metrics) {
    if (each.name == name) return each.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

double sum_of_exp(double a, double b) {
  return std::exp(a) + std::exp(b);
}

TEST(TaskScore, OfOlmoDividesByLengthsWithoutTheSpace) {
  const auto score = tasks::score(three_documents(Metric::len_norm), kScores, {});
  EXPECT_EQ(score.metrics.front().name, "len_norm");
  // Per character: (-2, -1), (-1.5, -2), (-1.5, -3). Gold: 1, 0, 0.
  EXPECT_EQ(metric_of(score, "len_norm"), 1.0);
  // By sums the choices are 0, 1, 0, of which the last is gold.
  EXPECT_DOUBLE_EQ(metric_of(score, "acc"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metric_of(score, "ce_loss"), (1 + 1.5 + 1.5) / 3);
  EXPECT_NEAR(metric_of(score, "bpb"), (1 + 0.5 + 1.5) / 3 / std::log(2), 1e-12);
  const double soft = (std::exp(-1) / sum_of_exp(-2, -1) + std::exp(-1.5) / sum_of_exp(-1.5, -2) +
                       std::exp(-1.5) / sum_of_exp(-1.5, -3)) /
                      3;
  EXPECT_NEAR(metric_of(score, "soft"), soft, 1e-12);
  const double soft_log = (-1 - std::log(sum_of_exp(-2, -1)) - 1.5 -
                           std::log(sum_of_exp(-1.5, -2)) - 1.5 - std::log(sum_of_exp(-1.5, -3))) /
                          3;
  EXPECT_NEAR(metric_of(score, "soft_log"), soft_log, 1e-12);
}

TEST(TaskScore, OfAccHasSoftScoresOfSums) {
  const auto score = tasks::score(three_documents(Metric::acc), kScores, {});
  EXPECT_EQ(score.metrics.front().name, "acc");
  const double soft =
      (std::exp(-5) / sum_of_exp(-4, -5) + std::exp(-3) / sum_of_exp(-3, -2) + 0.5) / 3;
  EXPECT_NEAR(metric_of(score, "soft"), soft, 1e-12);
  EXPECT_EQ(score.ties, 1);
  EXPECT_TRUE(score.documents[2].is_tie && score.documents[2].is_correct);
}

TEST(TaskScore, OfOlmoV2CountsTheSpace) {
  const auto score =
      tasks::score(three_documents(Metric::len_norm), kScores, {.rule = Rule::olmo_v2});
  // Per character: (-4/3, -5/6), (-1, -1), (-6/5, -2): the tie goes to choice 0, which is gold.
  EXPECT_EQ(metric_of(score, "len_norm"), 1.0);
  EXPECT_EQ(score.ties, 1);
  EXPECT_NEAR(metric_of(score, "ce_loss"), (5.0 / 6 + 1 + 6.0 / 5) / 3, 1e-12);
  EXPECT_NEAR(metric_of(score, "bpb"), (5.0 / 6 + 3.0 / 7 + 6.0 / 5) / 3 / std::log(2), 1e-12);
}

TEST(TaskScore, OfLmEvalHasItsNames) {
  const auto score = tasks::score(three_documents(Metric::acc), kScores, {.rule = Rule::lm_eval});
  EXPECT_DOUBLE_EQ(metric_of(score, "acc"), 1.0 / 3);
  EXPECT_EQ(metric_of(score, "acc_norm"), 1.0);
  // Per byte: (-1, -1), (-0.5, -2), (-1.5, -3): the first choice of a tie.
  EXPECT_DOUBLE_EQ(metric_of(score, "acc_bytes"), 2.0 / 3);
  const auto brier = [](double gold, double other) {
    const double p = std::exp(gold) / sum_of_exp(gold, other);
    return 2 * (1 - p) * (1 - p);
  };
  EXPECT_NEAR(metric_of(score, "brier"), (brier(-5, -4) + brier(-3, -2) + brier(-6, -6)) / 3,
              1e-12);
}

TEST(TaskScore, HasStandardErrorsChanceAndTags) {
  const auto score = tasks::score(three_documents(Metric::acc), kScores, {});
  const double p = 1.0 / 3;
  EXPECT_NEAR(score.metrics.front().standard_error, std::sqrt(p * (1 - p) / 2), 1e-12);
  EXPECT_DOUBLE_EQ(score.chance.value(), 0.5);
  ASSERT_EQ(score.tags.size(), 2U);
  EXPECT_EQ(score.tags[0].tag, "easy");
  EXPECT_EQ(score.tags[0].documents, 2);
  EXPECT_EQ(score.tags[0].value, 0.5);
  EXPECT_EQ(score.tags[1].value, 0.0);
}

// 3 characters of 3 bytes each.
TEST(TaskScore, CountsAFirstCharacterThatIsNoSpaceByItsRule) {
  Task task{.label = "one", .metric = Metric::bpb};
  task.documents = {{0, {{"c", "\u65e5\u672c\u8a9e"}}, 0, ""}};
  const auto bits = [&](Rule rule) {
    return metric_of(tasks::score(task, {{-9, false}}, {.rule = rule}), "bpb") * std::log(2);
  };
  EXPECT_NEAR(bits(Rule::olmo), 9.0 / 6, 1e-12);
  EXPECT_NEAR(bits(Rule::olmo_v2), 1, 1e-12);
  EXPECT_NEAR(bits(Rule::lm_eval), 1, 1e-12);
}

TEST(TaskScore, OfOneDocumentHasNoStandardError) {
  for (const auto metric : {Metric::acc, Metric::f1}) {
    Task task{.label = "one", .metric = metric};
    task.documents = {{0, {{"c", " a"}, {"c", " b"}}, 0, ""}};
    const auto score = tasks::score(task, {{-1, false}, {-2, false}}, {});
    EXPECT_EQ(score.metrics.front().value, 1.0);
    EXPECT_TRUE(std::isnan(score.metrics.front().standard_error));
  }
}

TEST(TaskScore, OfGoldAloneIsALoss) {
  Task task{.label = "gold", .metric = Metric::bpb};
  task.documents = {{0, {{"c", " abcd"}}, 0, ""}, {1, {{"c", " ab"}}, 0, ""}};
  const auto score = tasks::score(task, {{-4, false}, {-6, false}}, {});
  EXPECT_EQ(score.metrics.front().name, "bpb");
  EXPECT_NEAR(score.metrics.front().value, 2 / std::log(2), 1e-12);
  EXPECT_FALSE(score.metrics.front().is_larger_better);
  EXPECT_FALSE(score.chance);
}

// Choices 0, 1, 0, 0 and gold 0, 0, 1, 0: two hits, one false positive, one false negative.
TEST(TaskScore, OfF1HasChoiceZeroAsThePositiveClass) {
  Task task{.label = "f1", .metric = Metric::f1};
  for (const std::size_t gold : {0U, 0U, 1U, 0U}) {
    task.documents.push_back({0, {{"c", " yes"}, {"c", " no"}}, gold, ""});
  }
  const std::vector<RowScore> scores = {{-1, false}, {-2, false}, {-2, false}, {-1, false},
                                        {-1, false}, {-2, false}, {-1, false}, {-2, false}};
  EXPECT_DOUBLE_EQ(tasks::score(task, scores, {}).metrics.front().value, 2.0 / 3);
}

// -1.5000001 and -1.5000002 are one bfloat16, so the first of equal choices wins.
TEST(TaskScore, InBfloat16HasMoreTies) {
  Task task{.label = "bf16", .metric = Metric::len_norm};
  task.documents = {{0, {{"c", " ab"}, {"c", " cd"}}, 1, ""}};
  const std::vector<RowScore> scores = {{-3.002, false}, {-3.0, false}};
  EXPECT_EQ(tasks::score(task, scores, {}).ties, 0);
  const auto rounded = tasks::score(task, scores, {.rounds_to_bfloat16 = true});
  EXPECT_EQ(rounded.ties, 1);
  EXPECT_FALSE(rounded.documents.front().is_correct);
}

/// The message of the Error that scoring throws.
std::string message_of_refusal(const Task& task, const std::vector<RowScore>& scores, Exit exit) {
  try {
    tasks::score(task, scores, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit);
    return error.what();
  }
  ADD_FAILURE() << "was not refused";
  return "";
}

TEST(TaskScore, RefusesWhatIsNoNumber) {
  auto scores = kScores;
  scores[3].log_probability = std::numeric_limits<double>::quiet_NaN();
  const auto nan = message_of_refusal(three_documents(Metric::acc), scores, Exit::diverged);
  EXPECT_NE(nan.find("three: the score of document 1, choice 1, is not a number"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel
