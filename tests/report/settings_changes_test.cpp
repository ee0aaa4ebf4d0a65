// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/settings_changes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evenkeel/base/json_parser.h"
#include "evenkeel/config/config.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/comparison_tables.h"
#include "evenkeel/report/run_figures.h"
#include "evenkeel/report/run_page.h"
#include "report/xml_check.h"

/// Runs whose settings changed at a resume.
namespace evenkeel::report {
namespace {

const store::RunChange kLowerPeak = {60, "schedule.peak", "0.004", "0.001"};

/// A finished run of 40 steps with the configuration of the program, and of these --set.
Run changed_run(const std::string& seed, double validation,
                const std::vector<store::RunChange>& changes = {},
                std::vector<std::string> sets = {"train.steps=40"}) {
  sets.push_back("seed=" + seed);
  Run run;
  run.name = "seed-" + seed;
  run.folder = "runs/" + run.name;
  run.scheme = "hybrid_norm_star";
  run.state = "finished";
  run.step = run.steps = 40;
  run.config = config::to_toml(config::resolve({.preset = {}, .scheme = {}, .sets = sets}));
  run.settings = flattened_toml(*run.config);
  run.changes = changes;
  run.validation_loss.add(40, validation);
  return run;
}

bool has_piece(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

TEST(SettingsChanges, AreThoseThatRunTomlDoesNotRepeat) {
  EXPECT_EQ(settings_changes_text(changed_run("1", 2)), "");
  EXPECT_EQ(
      settings_changes_text(changed_run(
          "1", 2,
          {kLowerPeak, {60, "log.every", "10", "1"}, {1200, "isa", "\"avx2\"", "\"avx512\""}})),
      "at step 60 (schedule.peak 0.004 → 0.001), at step 1,200 (isa \"avx2\" → \"avx512\")");
  EXPECT_EQ(
      settings_changes_text(changed_run("1", 2,
                                        {{60, "data.ood", "\"none\"", "\"a.txt\""},
                                         {60, "data.ood a.txt", "\"1\"", "\"2\""},
                                         {60, "evaluate.texts b (b.txt)", "\"3\"", "\"4\""}})),
      "")
      << "texts that only evaluations read";
  const std::string scheme(50, 'x');
  EXPECT_EQ(settings_changes_text(changed_run("1", 2, {{60, "scheme", "\"pre_norm\"", scheme}})),
            "at step 60 (scheme)");
}

TEST(SettingsChanges, KnowTheScheduleOfEachResume) {
  const std::vector<store::RunChange> changes = {{20, "train.steps", "20", "30"},  // a new schedule
                                                 {30, "train.steps", "30", "40"},  // that one kept
                                                 {30, "schedule.steps", "\"auto\"", "30"}};
  EXPECT_EQ(
      settings_changes_text(changed_run("1", 2, changes, {"train.steps=40", "schedule.steps=30"})),
      "at step 20 (train.steps 20 → 30)");
}

// The schedule of an extended run keeps its length, which run.toml then names.
TEST(SettingsChanges, AreNoneOfALongerRunWithItsSchedule) {
  const std::vector<store::RunChange> longer = {{20, "train.steps", "20", "40"},
                                                {20, "schedule.steps", "\"auto\"", "20"}};
  const auto text_of = [&](std::vector<store::RunChange> changes, const std::string& schedule) {
    return settings_changes_text(changed_run("1", 2, changes, {"train.steps=40", schedule}));
  };
  EXPECT_EQ(text_of(longer, "schedule.steps=20"), "");
  EXPECT_EQ(text_of({longer.front()}, "schedule.steps=20"), "");
  EXPECT_EQ(text_of({longer.front()}, "schedule.steps=auto"), "at step 20 (train.steps 20 → 40)")
      << "a schedule that was fitted to the new length";
  EXPECT_EQ(
      text_of({longer.front(), {20, "schedule.steps", "\"auto\"", "30"}}, "schedule.steps=30"),
      "at step 20 (schedule.steps \"auto\" → 30)");
  // 20 steps of 8 sequences of 256 tokens
  EXPECT_EQ(text_of({{20, "train.tokens", "40000", "80000"}, longer.back()}, "schedule.steps=20"),
            "");
}

TEST(SettingsChanges, AreReadFromProvenanceWithoutDamagedEntries) {
  const auto changes = store::run_changes(parse_json(
      R"({"changes": [3, {"step": "x"}, {"step": 5, "what": "seed", "before": "1", "after": "2"}]})"));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].step, 5);
  EXPECT_EQ(changes[0].key, "seed");
  for (const auto* const none : {"{}", "[]", R"({"changes": "x"})", R"({"changes": {"a": 1}})"}) {
    EXPECT_TRUE(store::run_changes(parse_json(none)).empty()) << none;
  }
}

TEST(SettingsChanges, KeepARunOutOfTheMeanOfItsSeeds) {
  const auto runs =
      std::vector{changed_run("1", 2), changed_run("2", 4), changed_run("3", 9, {kLowerPeak})};
  EXPECT_EQ(seed_groups(runs), (std::vector<SeedGroup>{{0, 1}, {2}}));
  const auto page = comparison_page(runs);
  EXPECT_EQ(xml_error(page), "");
  EXPECT_TRUE(has_piece(page, "<td class=\"number\">2</td><td class=\"number\">3.0000</td>"));
  EXPECT_TRUE(has_piece(page, "<td class=\"key-name\">settings changed</td>"));
  EXPECT_TRUE(has_piece(page, "at step 60 (schedule.peak 0.004 → 0.001)</td>"));
}

TEST(SettingsChanges, AreNamedBesideTheCommandThatWouldRepeatTheRun) {
  const auto unchanged = run_page(changed_run("1", 2));
  EXPECT_TRUE(has_piece(unchanged, "run.toml, complete: repeats the run"));
  EXPECT_FALSE(has_piece(unchanged, "does not repeat"));
  const auto changed = run_page(changed_run("1", 2, {kLowerPeak}));
  EXPECT_EQ(xml_error(changed), "");
  EXPECT_TRUE(has_piece(changed, "run.toml, complete: the settings since the last change"));
  EXPECT_TRUE(has_piece(changed,
                        "Settings changed at step 60 (schedule.peak 0.004 → 0.001): this command "
                        "does not repeat the run."));
}

/// The lines of the chart of the learning rate.
nlohmann::json rate_lines(const Run& run) {
  const auto start = std::string("<script type=\"application/json\">");
  for (const auto& chart : element_contents(curve_figures(run), start)) {
    const auto parsed = parse_json(chart);
    if (parsed["title"] == "Learning rate") return parsed["lines"];
  }
  return {};
}

TEST(LearningRateFigure, HasTheLoggedRatesAndThenTheSchedule) {
  auto run = changed_run(
      "1", 2, {},
      {"train.steps=40", "schedule.kind=constant", "schedule.warmup=0", "schedule.peak=0.25"});
  run.learning_rate = {{10, 20}, {0.5, 0.5}};  // of another peak than that of run.toml
  const auto lines = rate_lines(run);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["x"].dump(), "[10,20]");
  EXPECT_EQ(lines[0]["y"].dump(), "[0.5,0.5]");
  EXPECT_EQ(lines[1]["x"].front(), 20);
  EXPECT_EQ(lines[1]["x"].back(), 40);
  EXPECT_EQ(lines[1]["y"].front(), 0.25);
  run.learning_rate = {{10, 40}, {0.5, 0.5}};
  EXPECT_EQ(rate_lines(run).size(), 1U) << "no step is left";
  run.learning_rate = {};
  EXPECT_EQ(rate_lines(run)[0]["x"].front(), 1) << "nothing is logged yet";
}

}  // namespace
}  // namespace evenkeel::report
