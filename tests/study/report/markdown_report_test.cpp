// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/markdown_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "evenkeel/base/error.h"
#include "evenkeel/study/report/html_report.h"
#include "evenkeel/study/report/report_table.h"
#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& wanted) {
  const auto lines = lines_of(text);
  return std::count(lines.begin(), lines.end(), wanted) == 1;
}

/// Bars that part cells: those without a backslash before them.
std::size_t bars_of(const std::string& line) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '|' && (at == 0 || line[at - 1] != '\\')) ++count;
  }
  return count;
}

std::vector<std::string> time_lines(const std::string& text) {
  auto lines = lines_of(text);
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("Time:"); });
  return lines;
}

TEST(MarkdownReport, HasTheSectionsOfTheHtmlReport) {
  const auto text = markdown_report(sample_results());
  for (const char* line :
       {"# Where the norms stand", "Does it matter where norms stand?", "## Verdicts",
        "HybridNorm ends lower than Pre-Norm.", "## Against the baseline",
        "## Compared with the paper", "## Fairness", "- initialisation", "  - normal: pre_norm",
        "  - megatron: hybrid_norm; post_norm", "## Runs", "## To repeat it",
        "./ek study sample --size smoke",
        "1 run has no value and is in no mean: post_norm: 1 failed of 3."}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

TEST(MarkdownReport, HasAsManyCellsPerRowAsInTheHeader) {
  auto results = sample_results();
  results.study.claims[0].says = "a|b";
  const auto text = markdown_report(results);
  std::size_t wanted = 0, rows = 0;
  for (const auto& line : lines_of(text)) {
    const bool is_row = line.starts_with('|');
    if (is_row && wanted == 0) wanted = bars_of(line);
    if (is_row) {
      EXPECT_EQ(bars_of(line), wanted) << line;
    }
    wanted = is_row ? wanted : 0;
    rows += is_row ? 1 : 0;
  }
  EXPECT_GT(rows, 30u);
}

TEST(MarkdownReport, HasTimesInOneLineOnly) {
  const auto fast = sample_results();
  auto slow = fast;
  slow.seconds *= 7;
  const auto one = markdown_report(fast), other = markdown_report(slow);
  EXPECT_EQ(time_lines(one),
            (std::vector<std::string>{"Time: Training took 1:02:03, 25 % of it in searches."}));
  EXPECT_NE(one, other);
  const auto without = [](const std::string& text) {
    auto lines = lines_of(text);
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("Time:"); });
    return lines;
  };
  EXPECT_EQ(without(one), without(other));
}

TEST(MarkdownReport, SaysThatRunsAreMissing) {
  auto results = sample_results();
  results.arms[0].seed_runs[0] = SeedRun{.seed = 1, .value = std::nan("")};
  results.is_complete = false;
  EXPECT_TRUE(has_line(markdown_report(results),
                       "This study is incomplete: 1 of 9 runs is missing. The results below are "
                       "those of the finished runs."));
}

TEST(MarkdownReport, ListsTheArmsOfEachConfounder) {
  EXPECT_NE(markdown_report(sample_results())
                .find("- initialisation\n  - normal: pre_norm\n"
                      "  - megatron: hybrid_norm; post_norm\n\n"),
            std::string::npos);
}

TEST(MarkdownReport, SaysThatRecordsWereLost) {
  auto results = sample_results();
  auto& arm = results.arms[0];
  arm.seed_runs[0].run.events = {
      {6, "spike", "not this"},
      {6, "records_missing", "metrics.jsonl: the records of steps 4 to 6 are missing"}};
  arm.seed_runs[1].run.damaged = {{"probes.jsonl", 2}};
  EXPECT_TRUE(
      has_line(markdown_report(results),
               text("Records of runs were lost: ", arm.name, ", seed ", arm.seed_runs[0].seed,
                    ": metrics.jsonl: the records of steps 4 to 6 are missing; ", arm.name,
                    ", seed ", arm.seed_runs[1].seed, ": probes.jsonl: 2 lines are damaged.")));
  EXPECT_NE(html_report(results).find("Records of runs were lost: "), std::string::npos);
}

TEST(MarkdownReport, HasTheSchemesOfFiles) {
  auto results = sample_results();
  results.own_schemes = {{"mine", "norm = \"rms_norm\"\n"}};
  EXPECT_TRUE(markdown_report(results).ends_with(
      "```\n\nThe scheme mine:\n\n```\nnorm = \"rms_norm\"\n```\n\n"));
}

TEST(MarkdownReport, FencesAFileThatHasFences) {
  auto results = sample_results();
  results.study.text = "```\n````";
  EXPECT_NE(markdown_report(results).find("`````\n```\n````\n`````\n"), std::string::npos);
}

TEST(EscapedMarkdown, LeavesNoMarkup) {
  EXPECT_EQ(escaped_markdown("a|b *c* `d` <e>\nf_g"), "a\\|b \\*c\\* \\`d\\` \\<e\\> f_g");
}

}  // namespace
}  // namespace evenkeel::study
