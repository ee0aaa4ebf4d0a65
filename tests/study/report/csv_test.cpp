// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/csv.h"

#include <gtest/gtest.h>

#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

using Fields = std::vector<std::string>;

/// Reads RFC 4180.
std::vector<Fields> parsed_csv(const std::string& text) {
  std::vector<Fields> rows(1, Fields(1));
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '"' && quoted && at + 1 < text.size() && text[at + 1] == '"') {
      rows.back().back() += text[++at];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (letter == '\n' && !quoted) {
      rows.emplace_back(1);
    } else {
      rows.back().back() += letter;
    }
  }
  rows.pop_back();  // after the last line feed
  return rows;
}

TEST(RunsCsv, HasAHeaderAndOneRowPerRun) {
  const auto rows = parsed_csv(runs_csv(sample_results({.layers = {"4", "16"}})));
  ASSERT_EQ(rows.size(), 1u + 3 * 2 * 3);
  EXPECT_EQ(rows[0], (Fields{"name", "scheme", "model.layers", "seed", "state", "why", "value",
                             "training_loss", "validation_loss", "parameters", "tokens",
                             "precision", "tuned", "folder", "study", "size"}));
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(Fields(rows[1].begin(), rows[1].begin() + 6),
            (Fields{"pre_norm, layers 4", "pre_norm", "4", "1", "finished", ""}));
  EXPECT_EQ(rows[1][6], rows[1][8]);  // the measure is the validation loss
}

TEST(RunsCsv, HasTheLossesAfterSharesOfTheSteps) {
  auto results = sample_results();
  results.study.loss_shares = {0.5, 1};
  const auto rows = parsed_csv(runs_csv(results));
  ASSERT_EQ(rows[0].size(), rows[1].size());
  EXPECT_EQ(Fields(rows[0].end() - 2, rows[0].end()),
            (Fields{"validation loss after 50 % of the steps",
                    "validation loss after 100 % of the steps"}));
  EXPECT_EQ(rows[1].back(), rows[1][7]) << "the last validation loss";
  EXPECT_EQ(rows.back().back(), "") << "a failed run";
}

TEST(RunsCsv, KeepsFailedRunsWithoutAValue) {
  const auto rows = parsed_csv(runs_csv(sample_results()));
  const auto& last = rows.back();
  EXPECT_EQ(Fields(last.begin(), last.begin() + 6), (Fields{"post_norm", "post_norm", "3", "failed",
                                                            "validation loss 3.41 above 2.5", ""}));
}

TEST(RunsCsv, LeavesMissingFieldsEmpty) {
  auto results = sample_results();
  results.arms[0].seed_runs[0] = SeedRun{.seed = 1};
  EXPECT_EQ(parsed_csv(runs_csv(results))[1],
            (Fields{"pre_norm", "pre_norm", "1", "missing", "", "", "", "", "800000", "",
                    "bfloat16", "0.002", "", "sample", "smoke"}));
}

TEST(RunsCsv, QuotesCommasQuotesAndLines) {
  auto results = sample_results();
  results.arms[0].seed_runs[0].reason = "said \"no\",\nthen left";
  EXPECT_NE(runs_csv(results).find("\"said \"\"no\"\",\nthen left\""), std::string::npos);
  EXPECT_EQ(parsed_csv(runs_csv(results))[1][4], "said \"no\",\nthen left");
}

TEST(CsvRows, SkipAByteOrderMark) {
  const auto rows = csv_rows("\xef\xbb\xbfscheme,seed\n\xef\xbb\xbf,1\n", "runs.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fields, (Fields{"scheme", "seed"}));
  EXPECT_EQ(rows[1].fields, (Fields{"\xef\xbb\xbf", "1"}));
}

TEST(RunsCsv, ContainsNoTimes) {
  auto slow = sample_results();
  slow.seconds *= 7;
  for (auto& arm : slow.arms) arm.seed_runs[0].run.seconds = 99;
  EXPECT_EQ(runs_csv(slow), runs_csv(sample_results()));
}

}  // namespace
}  // namespace evenkeel::study
