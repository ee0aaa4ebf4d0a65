// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/overhead.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/report/csv.h"
#include "evenkeel/study/report/forest_plot.h"
#include "evenkeel/study/report/report_content.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {
namespace {

/// Three runs whose steps take this long, but for one step of each, which was disturbed.
Arm timed_arm(const std::string& scheme, const std::vector<double>& seconds) {
  Arm out{.name = scheme, .labels = {{"scheme", scheme}}, .parameters = 10000};
  std::int64_t seed = 0;
  for (const double each : seconds) {
    SeedRun seed_run{.state = SeedRun::State::finished, .seed = ++seed};
    for (const double step : {1.0, 1.0, 50.0, 1.0, 0.5}) {
      const auto at = static_cast<double>(seed_run.run.step_seconds.size());
      seed_run.run.step_seconds.add(at, step * each);
      seed_run.run.tokens_per_second.add(at, 2048 / (step * each));
    }
    seed_run.run.cpu_contention = 0.01 * static_cast<double>(seed);
    out.seed_runs.push_back(seed_run);
  }
  return out;
}

Results timed() {
  Results results;
  results.study.exclusive = true;
  results.study.seeds = {1, 2, 3};
  results.study.measure.kind = Measure::Kind::step_time;
  results.study.axes = {{"scheme", {{"pre_norm", {}}, {"hybrid_norm", {}}}}};
  results.study.baseline = {{"scheme", "pre_norm"}};
  Claim claim;
  claim.kind = Claim::Kind::equivalent;
  claim.of = {{"scheme", "hybrid_norm"}};
  claim.than = {{"scheme", "pre_norm"}};
  claim.margin = 0.02;
  claim.measure = results.study.measure;
  results.study.claims = {claim};
  results.arms = {timed_arm("pre_norm", {0.020, 0.021, 0.022}),
                  timed_arm("hybrid_norm", {0.020 * 1.0501, 0.021 * 1.05, 0.022 * 1.0499})};
  results.arms[0].norm_parameters = 50;
  results.arms[0].norms_share = 0.0123;
  results.arms[0].paper_norms_share = 2.0 / (6 * 512 + 256);
  for (auto& each : results.arms) {
    for (auto& seed_run : each.seed_runs)
      seed_run.value = measured_value(seed_run.run, results.study.measure);
  }
  analyze_claims(results);
  return results;
}

std::vector<std::string> texts(const std::vector<Cell>& row) {
  std::vector<std::string> out;
  for (const auto& cell : row) out.push_back(cell.text);
  return out;
}

TEST(Overhead, CountsAndMeasures) {
  const auto table = overhead_table(timed());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(texts(table.rows[0]),
            (std::vector<std::string>{"pre_norm", "50", "0.5 %", "1.23 %", "0.0601 %", "21",
                                      "baseline", "97,524", "3 %"}));
  const auto hybrid = texts(table.rows[1]);
  EXPECT_EQ(hybrid[5], "22.05");
  EXPECT_EQ(hybrid[6].find("+5 [+4.975, +5.025] %"), 0U) << hybrid[6];
  EXPECT_EQ(table.rows[0].size(), table.columns.size());
}

TEST(Overhead, IsEmptyWithoutTimedRuns) {
  auto results = timed();
  results.study.measure = {};
  EXPECT_TRUE(overhead_table(results).rows.empty());
}

TEST(Overhead, HasNoTimesOfAnArmThatDidNotFinish) {
  auto results = timed();
  for (auto& seed_run : results.arms[1].seed_runs) seed_run.state = SeedRun::State::failed;
  analyze_claims(results);
  const auto row = texts(overhead_table(results).rows[1]);
  EXPECT_EQ(std::vector(row.begin() + 5, row.end()), std::vector<std::string>(4, "–"));
}

// Inside they are logarithms, since times are compared by their ratio; nobody reads those.
TEST(Times, AreShownInMillisecondsAndTheirDifferencesInPerCent) {
  const auto results = timed();
  const auto table = arms_table(results);
  EXPECT_EQ(table.rows[0][2].text.find("20.98 ["), 0U) << table.rows[0][2].text;  // geometric
  EXPECT_EQ(table.rows[1][3].text, "+5 [+4.975, +5.025] %");
  EXPECT_NE(table.footnote.find("time of a step, ms;"), std::string::npos) << table.footnote;
  EXPECT_NE(table.footnote.find("means are geometric"), std::string::npos);
  const auto higher = sentence(results, results.baseline_verdicts.at(0));
  EXPECT_TRUE(higher.starts_with(
      "time of a step of hybrid_norm is higher than of pre_norm by 5 [4.98, 5.02] % ("))
      << higher;
  const auto within = sentence(results, results.verdicts.at(0));
  EXPECT_NE(within.find("; difference within 2.02 %: p "), std::string::npos) << within;
  EXPECT_NE(forest_plot(results).find("time of a step, %"), std::string::npos);
  EXPECT_NE(runs_csv(results).find(",finished,,22.05"), std::string::npos) << runs_csv(results);
}

}  // namespace
}  // namespace evenkeel::study
