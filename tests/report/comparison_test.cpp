// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "evenkeel/base/file.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/comparison_tables.h"
#include "evenkeel/report/report.h"
#include "report/xml_check.h"

/// Runs that repeat a seed, runs with equal losses, and a run that is named twice.
namespace evenkeel::report {
namespace {

namespace fs = std::filesystem;

/// A finished run of 40 steps.
Run compared_run(const std::string& name, const std::string& seed, double validation) {
  Run run;
  run.name = name;
  run.scheme = "hybrid_norm";
  run.state = "finished";
  run.step = run.steps = 40;
  if (!seed.empty()) run.settings = {{"seed", seed}};
  run.validation_loss.add(40, validation);
  return run;
}

bool shows(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

/// The sentence at the head of a comparison, without the caution about single runs.
std::string head_of(const std::vector<Run>& runs) {
  const auto page = comparison_page(runs);
  EXPECT_EQ(xml_error(page), "");
  const auto sentence = element_contents(page, "<p class=\"verdict\">").front();
  return sentence.substr(0, sentence.find(" <span"));
}

TEST(ComparedSeeds, CountEachSeedOnce) {
  auto first = compared_run("ra", "1", 2), again = compared_run("rb", "1", 8);
  const auto other = compared_run("rc", "2", 4);
  const std::string repeated =
      "<p class=\"below\">Each seed counts once, with its run that began first. Repeated: rb (seed "
      "1, as ra).</p>\n";
  EXPECT_EQ(seeds_section({first, again}), repeated);
  const auto html = seeds_section({first, again, other});
  EXPECT_TRUE(shows(html, "<td class=\"number\">2</td><td class=\"number\">3.0000</td>")) << html;
  EXPECT_TRUE(shows(html, "mean of 2 seeds"));
  EXPECT_TRUE(shows(html, repeated));
  EXPECT_FALSE(shows(seeds_section({first, other}), "Repeated"));
  EXPECT_NE(caution_text({first, again}), "");
  EXPECT_EQ(caution_text({first, other}), "");
  // The page sorts by loss, which chooses no run of a seed.
  first.started = "2026-01-02T00:00:00Z";
  again.started = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(shows(seeds_section({first, again, other}), "Repeated: ra (seed 1, as rb)."));
}

TEST(ComparedSeeds, CountRunsOfUnknownSeeds) {
  const auto html = seeds_section({compared_run("ra", "", 2), compared_run("rb", "", 4)});
  EXPECT_TRUE(shows(html, "mean of 2 seeds"));
  EXPECT_FALSE(shows(html, "Repeated"));
}

TEST(ComparedLosses, AreEqualWhereNoneIsLower) {
  const auto a = compared_run("ra", "1", 1.5), b = compared_run("rb", "2", 1.5);
  const auto c = compared_run("rc", "3", 1.75);
  const std::string both =
      "<strong>ra</strong> and <strong>rb</strong> have equal validation losses, the lowest: "
      "1.5000 nats per token";
  EXPECT_EQ(head_of({a, b}), both + ".");
  EXPECT_EQ(head_of({c, a, b}), both + ", 0.2500 below rc.");
  const auto rows = element_contents(comparison_page({c, a, b}), "<tr class=\"best\">");
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(head_of({a, compared_run("near", "2", 1.50001)}),
            "<strong>ra</strong> has the lowest validation loss: 1.5000 nats per token, less than "
            "0.0001 below near.");
}

TEST(ComparedRuns, CountOnceWhereTheyAreNamedTwice) {
  const auto root = fs::path(::testing::TempDir()) / "evenkeel_comparison_test";
  fs::remove_all(root);
  fs::create_directories(root / "runs" / "a");
  write_file(root / "runs" / "a" / "metrics.jsonl", "{\"step\": 5, \"val_loss\": 2}\n");
  fs::create_directory_symlink(root / "runs" / "a", root / "link");
  const auto page_of = [&](const std::vector<fs::path>& runs) {
    write_report(runs, root / "report.html");
    return read_file(root / "report.html");
  };
  const auto a = root / "runs" / "a";
  const auto once = page_of({a});
  EXPECT_FALSE(shows(once, "Comparison of"));
  EXPECT_EQ(page_of({a, root / "runs" / "." / "a", a / "", root / "link"}), once);
  fs::remove_all(root);
}

}  // namespace
}  // namespace evenkeel::report
