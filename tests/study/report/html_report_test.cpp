// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evenkeel/study/analysis/claim_analysis.h"
#include "report/xml_check.h"
#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

using report::element_contents;
using report::xml_error;
using Words = std::vector<std::string>;

bool page_has(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

/// The page, which must be well-formed and must not show a number that is none.
std::string checked(const Results& results) {
  auto text = html_report(results);
  EXPECT_EQ(xml_error(text), "");
  const auto body = text.substr(text.find("<body>"));
  for (const char* bad : {"nan", "-inf", ">inf", "[–"}) EXPECT_FALSE(page_has(body, bad)) << bad;
  return text;
}

std::string section_of(const std::string& page, const std::string& heading) {
  const auto start = page.find("<h2>" + heading + "</h2>");
  if (start == std::string::npos) return "no section " + heading;
  return page.substr(start, page.find("</section>", start) - start);
}

/// The cells of the row that begins with this arm, without the piece of its curve.
Words row_of(const std::string& section, const std::string& arm) {
  for (const auto& row : element_contents(section, "<tr>")) {
    Words cells;
    for (auto at = row.find("<td"); at != std::string::npos; at = row.find("<td", at + 1)) {
      const auto begin = row.find('>', at) + 1;
      cells.push_back(row.substr(begin, row.find("</td>", begin) - begin));
    }
    if (cells.empty()) continue;
    const auto swatch = cells[0].find("</svg> ");
    if (swatch != std::string::npos) cells[0].erase(0, swatch + 7);
    if (cells[0] == arm) return cells;
  }
  return {};
}

std::string without_times(std::string page) {
  const auto begin = page.find("<p class=\"times\">");
  return begin == std::string::npos ? page : page.erase(begin, page.find("</p>", begin) - begin);
}

TEST(HtmlReport, NeedsNothingFromTheNetwork) {
  const auto text = report::without_namespaces(checked(sample_results()));
  for (const char* piece : {"http://", "https://", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_FALSE(page_has(text, piece)) << piece;
  }
}

TEST(HtmlReport, BeginsWithVerdictsAndEndsWithTheCommand) {
  const auto text = checked(sample_results());
  EXPECT_EQ(element_contents(text, "<h1>").front(), "Where the norms stand");
  EXPECT_EQ(element_contents(text, "<h2>"),
            (Words{"Verdicts", "Against the baseline", "Figures", "Compared with the paper",
                   "Fairness", "Runs", "To repeat it"}));
  EXPECT_TRUE(page_has(text, "Does it matter where norms stand?"));
  EXPECT_TRUE(page_has(text, "sample, size smoke; seeds 1, 2, 3; after arXiv 2503.04598"));
  const auto reproduction = section_of(text, "To repeat it");
  EXPECT_TRUE(page_has(reproduction, "./ek study sample --size smoke"));
  EXPECT_TRUE(page_has(reproduction, "evenkeel 0.1.0 (abc1234) on a processor, float32"));
  EXPECT_TRUE(page_has(reproduction, "title = &quot;Where the norms stand&quot;\n[axes]\n"));
}

TEST(HtmlReport, NamesEachClaimWithItsOutcomesAndPlaces) {
  auto results = sample_results();
  const auto place = [](Verdict::Outcome outcome, const char* where, const char* arm) {
    return Verdict{
        .outcome = outcome, .claim = 0, .where = where, .arm = arm, .reference = "pre_norm"};
  };
  results.verdicts = {place(Verdict::Outcome::supported, "layers 4", "hybrid_norm"),
                      place(Verdict::Outcome::contradicted, "layers 8", "post_norm")};
  const auto text = checked(results);
  EXPECT_EQ(element_contents(text, "<p class=\"verdict\">").front(),
            "2 outcomes: 1 is supported, 1 is contradicted.");
  EXPECT_EQ(element_contents(text, "<p class=\"says\">"),
            (Words{"HybridNorm ends lower than Pre-Norm.", "Post-Norm does not train."}));
  EXPECT_TRUE(
      page_has(text,
               "<span class=\"state supported\">supported</span><span><strong>layers 4</strong>: "
               "hybrid_norm and pre_norm finished without a finite validation loss</span>"));
  EXPECT_TRUE(
      page_has(text,
               "<span class=\"state contradicted\">contradicted</span><span>"
               "<strong>layers 8</strong>: post_norm and pre_norm finished without a finite "
               "validation loss; 1 of 3 runs of post_norm failed</span>"));
  EXPECT_TRUE(page_has(text,
                       "<span class=\"state unmeasured\">not measured</span><span>it has no runs "
                       "yet</span>"));
}

TEST(HtmlReport, HasTimesInOneElementOnly) {
  const auto fast = sample_results();
  auto slow = fast;
  slow.seconds *= 7;
  slow.search_share = 0.5;
  for (auto& arm : slow.arms) {
    for (auto& seed_run : arm.seed_runs) {
      seed_run.run.seconds = 99;
      seed_run.run.peak_memory = 1e9;
      seed_run.run.tokens_per_second.add(1, 1234);
    }
  }
  EXPECT_EQ(element_contents(checked(fast), "<p class=\"times\">"),
            (Words{"Training took 1:02:03, 25 % of it in searches."}));
  EXPECT_NE(html_report(fast), html_report(slow));
  EXPECT_EQ(without_times(html_report(fast)), without_times(html_report(slow)));
}

TEST(HtmlReport, IsTheSameForEqualResults) {
  EXPECT_EQ(html_report(sample_results()), html_report(sample_results()));
}

TEST(HtmlReport, SortsTheArmsByTheirDifferenceAndPutsFailedOnesLast) {
  auto results = sample_results({.schemes = {"post_norm", "pre_norm", "hybrid_norm"}});
  for (auto& seed_run : arm_of(results, "post_norm").seed_runs)
    fail(seed_run, "diverged at step 12");
  analyze_claims(results);
  results.baseline_verdicts[0].p = 0.1;  // Fisher: 3 of 3 failed, of the baseline 0 of 3
  const auto arms_section = section_of(checked(results), "Against the baseline");
  const auto hybrid = arms_section.find("</svg> hybrid_norm"),
             pre = arms_section.find("</svg> pre_norm"),
             post = arms_section.find("</svg> post_norm");
  EXPECT_LT(hybrid, pre);
  EXPECT_LT(pre, post);
  ASSERT_NE(post, std::string::npos);
  EXPECT_EQ(row_of(arms_section, "post_norm"),
            (Words{"post_norm", "<span class=\"state failed\">0 of 3; 3 failed</span>", "–", "–",
                   "–", "0.100", "–"}));
  EXPECT_EQ(row_of(arms_section, "pre_norm")[3], "baseline");
}

TEST(HtmlReport, StatesEveryRunThatFailed) {
  auto results = sample_results();
  arm_of(results, "pre_norm").seed_runs[0].state = SeedRun::State::crashed;
  results.is_complete = false;
  const auto text = checked(results);
  EXPECT_TRUE(page_has(text,
                       "2 runs have no value and are in no mean: pre_norm: 1 crashed of 3; "
                       "post_norm: 1 failed of 3."));
  EXPECT_TRUE(page_has(section_of(text, "Runs"), "validation loss 3.41 above 2.5"));
}

// The Arms table uses the value of a run that failed after the probe.
TEST(HtmlReport, CountsTheValueOfARunThatFailedLater) {
  auto results = sample_results();
  results.study.measure = {.kind = Measure::Kind::probe, .probe = "grad_norm", .step = 100};
  arm_of(results, "post_norm").seed_runs[2].value = 0.5;
  EXPECT_TRUE(page_has(checked(results),
                       "<p>1 run failed later; its value at step 100 counts: post_norm: 1 of 3."));
  EXPECT_TRUE(page_has(checked(results),
                       "means of runs that reached step 100, failed ones included, with 95 %"));
  fail(arm_of(results, "post_norm").seed_runs[1], "not finite at step 7");
  arm_of(results, "pre_norm").seed_runs[0].state = SeedRun::State::crashed;
  EXPECT_TRUE(page_has(checked(results),
                       "<p>2 runs have no value and are in no mean: pre_norm: 1 crashed of 3; "
                       "post_norm: 1 failed of 3. 1 run failed later; its value at step 100 "
                       "counts: post_norm: 1 of 3."));
}

TEST(HtmlReport, HasTheSchemesOfFiles) {
  auto results = sample_results();
  results.own_schemes = {{"a & b", "norm = \"rms_norm\"\n"}};
  const auto section = section_of(checked(results), "To repeat it");
  EXPECT_TRUE(page_has(section, "<summary>The scheme a &amp; b</summary>"));
  EXPECT_TRUE(page_has(section, "norm = &quot;rms_norm&quot;"));
}

TEST(HtmlReport, SaysThatRunsAreMissing) {
  auto results = sample_results();
  EXPECT_TRUE(element_contents(checked(results), "<p class=\"notice\">").empty());
  arm_of(results, "hybrid_norm").seed_runs[1] = SeedRun{.seed = 2, .value = std::nan("")};
  results.is_complete = false;
  analyze_claims(results);
  EXPECT_EQ(element_contents(checked(results), "<p class=\"notice\">"),
            (Words{"This study is incomplete: 1 of 9 runs is missing. The results below are "
                   "those of the finished runs."}));
}

TEST(HtmlReport, SaysThatRunsCrashed) {
  auto results = sample_results();
  results.is_complete = false;
  auto& runs = arm_of(results, "hybrid_norm").seed_runs;
  runs[1].state = SeedRun::State::crashed;
  EXPECT_TRUE(page_has(checked(results), "This study is incomplete: 1 of 9 runs crashed. "));
  runs[2].state = SeedRun::State::missing;
  EXPECT_TRUE(page_has(checked(results),
                       "This study is incomplete: 1 of 9 runs crashed; 1 of 9 runs is missing. "));
}

// A study of which nothing ran yet.
TEST(HtmlReport, ShowsAStudyWithoutAnyRun) {
  auto results = sample_results();
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs)
      seed_run = SeedRun{.seed = seed_run.seed, .value = std::nan("")};
  }
  results.is_complete = false;
  analyze_claims(results);
  EXPECT_TRUE(page_has(checked(results), "9 of 9 runs are missing"));
}

// A study that was stopped in its search.
TEST(HtmlReport, ShowsAStudyWithoutAnyArm) {
  Results results{.study = sample_results().study};
  const auto text = checked(results);
  EXPECT_EQ(element_contents(text, "<p class=\"notice\">"),
            (Words{"This study is incomplete: its grid has no run yet."}));
  EXPECT_EQ(element_contents(text, "<p class=\"verdict\">"), (Words{"No claim is measured yet."}));
}

TEST(HtmlReport, SaysWhereVerdictsDoNotNameTheSignFlipTest) {
  EXPECT_TRUE(page_has(checked(sample_results()),
                       "A verdict says where this test disagrees, except with fewer than 6 pairs, "
                       "or where no data of so many seeds could be significant after the "
                       "correction."));
}

TEST(HtmlReport, HasNoDifferencesWithoutABaseline) {
  const auto text = checked(sample_results({.has_baseline = false}));
  EXPECT_EQ(element_contents(text, "<h2>")[1], "Arms");
  EXPECT_EQ(row_of(section_of(text, "Arms"), "hybrid_norm").size(), 3u);
  EXPECT_FALSE(page_has(text, "Difference to the baseline"));
}

TEST(HtmlReport, ShowsNoMeanWithoutItsIntervalOrThatItIsOneRun) {
  for (const auto& seeds : {std::vector<std::int64_t>{1}, {1, 2}, {1, 2, 3}}) {
    const auto arms_section =
        section_of(checked(sample_results({.seeds = seeds})), "Against the baseline");
    for (const auto* const arm : {"pre_norm", "hybrid_norm"}) {
      const auto mean = row_of(arms_section, arm).at(2);
      EXPECT_TRUE(page_has(mean, seeds.size() == 1 ? " (one run)" : " [")) << mean;
    }
  }
}

TEST(HtmlReport, WarnsOfATunedValueAtTheEdgeOfItsRange) {
  const auto fairness = section_of(checked(sample_results()), "Fairness");
  EXPECT_EQ(row_of(fairness, "hybrid_norm").back(),
            "<span class=\"state inconclusive\">0.002, at the edge of the range</span>");
  EXPECT_TRUE(page_has(fairness, "In 1 arm the best value is at the edge of the range"));
  // 3 arms, each of 3 tries of half the steps and one of all: 3 * (3 * 0.5 + 1)
  EXPECT_TRUE(page_has(fairness, "12 trials; their steps equal those of 7.5 whole runs"));
  EXPECT_TRUE(page_has(fairness, "<th class=\"number\">loss at 50 %</th>"));
  EXPECT_TRUE(page_has(fairness, "<span class=\"state failed\">failed</span>"));
  EXPECT_TRUE(page_has(fairness,
                       "<li>initialisation<ul><li>normal: pre_norm</li>"
                       "<li>megatron: hybrid_norm; post_norm</li></ul></li>"));
}

TEST(HtmlReport, ComparesTheDirectionWithThePapers) {
  auto results = sample_results();
  auto& verdict = results.verdicts.at(0);
  verdict.difference = PairedDifference{3, -0.03, 0.01, {-0.04, -0.02}, 0.001, -3};
  verdict.outcome = Verdict::Outcome::supported;
  const auto paper = section_of(checked(results), "Compared with the paper");
  EXPECT_EQ(row_of(paper, "HybridNorm ends lower than Pre-Norm."),
            (Words{"HybridNorm ends lower than Pre-Norm.", "-0.02", "-0.0300 [-0.0400, -0.0200]",
                   "<span class=\"state agrees\">agrees</span>", "Table 1"}));
}

TEST(HtmlReport, ComparesWithThePaperPlaceByPlace) {
  const auto paper =
      section_of(checked(sample_results({.layers = {"4", "8"}, .has_probes = false})),
                 "Compared with the paper");
  EXPECT_TRUE(page_has(paper, "<th>where</th>"));
  EXPECT_TRUE(page_has(paper, "<td>HybridNorm ends lower than Pre-Norm.</td><td>layers 8</td>"));
}

TEST(HtmlReport, EscapesWhatTheStudySays) {
  auto results = sample_results({.schemes = {"pre_norm", "a<b>&c"}});
  results.study.title = "<Norms> & co";
  results.study.text = "</pre><script>";
  results.arms[0].seed_runs[0].reason = "<why>";
  results.confounders = {{.covariate = "<unfair>"}};
  const auto text = checked(results);
  EXPECT_TRUE(page_has(text, "a&lt;b&gt;&amp;c"));
  EXPECT_FALSE(page_has(text, "a<b>"));
  EXPECT_FALSE(page_has(text, "</pre><script>"));
  EXPECT_EQ(report::element_contents(text, "<script>").size(), 2U);  // the page's own
}

}  // namespace
}  // namespace evenkeel::study
