// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/recorded_results.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/report/csv.h"
#include "evenkeel/study/report/verdict_text.h"
#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

/// A CSV file that is removed at the end of the test.
class CsvFile {
 public:
  explicit CsvFile(const std::string& content)
      : path_(fs::path(::testing::TempDir()) / "recorded_runs.csv") {
    write_file(path_, content);
  }
  ~CsvFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::string> sentences(const Results& results) {
  std::vector<std::string> out;
  for (const auto* const verdicts : {&results.verdicts, &results.baseline_verdicts}) {
    for (const auto& verdict : *verdicts) out.push_back(sentence(results, verdict));
  }
  return out;
}

/// Of a study with four arms, of which two fail, and a claim on a probe.
Results judged() {
  auto results = sample_results({.schemes = {"pre_norm", "hybrid_norm"}, .layers = {"4", "16"}});
  results.study.claims.push_back({.says = "slopes differ",
                                  .of = {{"scheme", "hybrid_norm"}},
                                  .than = {{"scheme", "pre_norm"}},
                                  .measure = {.kind = Measure::Kind::probe,
                                              .probe = "grad_norm",
                                              .part = "block",
                                              .step = 100,
                                              .reduction = Measure::Reduction::slope}});
  analyze_claims(results);
  return results;
}

TEST(RecordedResults, HaveTheVerdictsOfTheRuns) {
  const auto results = judged();
  const CsvFile file(runs_csv(results));
  auto study = results.study;
  study.seeds = {7};
  const auto recorded = recorded_results(study, file.path(), /*keeps_seeds=*/false);
  EXPECT_EQ(recorded.missing_columns, std::vector<std::string>());
  EXPECT_EQ(recorded.results.study.seeds, results.study.seeds);
  EXPECT_EQ(sentences(recorded.results), sentences(results));
  EXPECT_GE(sentences(results).size(), 6U);
  for (std::size_t i = 0; i < results.verdicts.size(); ++i) {
    EXPECT_EQ(recorded.results.verdicts[i].p, results.verdicts[i].p) << i;
  }
  EXPECT_TRUE(recorded.results.is_complete);
  EXPECT_EQ(runs_csv(recorded.results), runs_csv(results));
}

TEST(RecordedResults, HaveFurtherValues) {
  auto results = sample_results({.schemes = {"pre_norm", "hybrid_norm"}, .layers = {"4", "16"}});
  results.study.refine = {.axis = "model.layers", .cap = 0};  // none trains: no further values
  auto further = results.arms[0];
  further.labels["model.layers"] = "8";
  further.name = labels_text(results.study, further.labels);
  for (auto& run : further.seed_runs) run.value -= 1;
  results.further_arms = {further};
  analyze_claims(results);
  const CsvFile file(runs_csv(results));
  const auto recorded = recorded_results(results.study, file.path(), /*keeps_seeds=*/false);
  ASSERT_EQ(recorded.results.further_arms.size(), 1U);
  EXPECT_EQ(recorded.results.further_arms[0].name, further.name);
  EXPECT_EQ(runs_csv(recorded.results), runs_csv(results));
  auto all = runs_csv(results);
  for (auto at = all.find(",16,"); at != std::string::npos; at = all.find(",16,", at))
    all.replace(at, 4, ",16.0,");
  const CsvFile respelled(all);
  EXPECT_FALSE(all.find(",16.0,") == std::string::npos);
  EXPECT_EQ(
      recorded_results(results.study, respelled.path(), /*keeps_seeds=*/false).results.arms.size(),
      4U);
  auto unrefined = results.study;
  unrefined.refine = {};
  EXPECT_THROW(recorded_results(unrefined, file.path(), /*keeps_seeds=*/false), Error);
}

TEST(RecordedResults, SayWhichFurtherValuesAreMissing) {
  auto results = sample_results({.schemes = {"pre_norm", "hybrid_norm"}, .layers = {"4", "16"}});
  const CsvFile file(runs_csv(results));
  results.study.refine = {.axis = "model.layers", .extend = 0, .cap = 9};
  const auto recorded = recorded_results(results.study, file.path(), /*keeps_seeds=*/false);
  ASSERT_EQ(recorded.results.further_arms.size(), 2U);  // 8 layers
  EXPECT_EQ(recorded.results.further_arms[0].labels.at("model.layers"), "8");
  EXPECT_EQ(recorded.results.further_arms[0].seed_runs[0].reason, "not in the file");
  EXPECT_FALSE(recorded.results.is_complete);
}

TEST(RecordedResults, OfSomeSeeds) {
  const auto results = judged();
  const CsvFile file(runs_csv(results));
  auto study = results.study;
  study.seeds = {1, 2, 9};
  const auto recorded = recorded_results(study, file.path(), /*keeps_seeds=*/true);
  EXPECT_FALSE(recorded.results.is_complete);  // seed 9
  EXPECT_EQ(recorded.results.arms[0].seed_runs[1].value, results.arms[0].seed_runs[1].value);
  EXPECT_EQ(recorded.results.arms[0].seed_runs[2].reason, "not in the file");
}

TEST(RecordedResults, NameMissingMeasures) {
  auto results = judged();
  const auto wanted = results.study;
  results.study.claims.pop_back();
  const CsvFile file(runs_csv(results));
  EXPECT_EQ(recorded_results(wanted, file.path(), false).missing_columns,
            std::vector<std::string>{"slope of grad_norm (block) over blocks at step 100"});
}

TEST(RecordedResults, NameCrashedRuns) {
  const CsvFile file(
      "scheme,seed,state,why,value,training_loss,validation_loss\n"
      "pre_norm,1,finished,,2,2,2\n"
      "pre_norm,2,finished,,2.1,2,2.1\n"
      "hybrid_norm,1,crashed,exit code 70,,,\n"
      "hybrid_norm,2,crashed,exit code 70,,,\n");
  const auto study = sample_results({.schemes = {"pre_norm", "hybrid_norm"}}).study;
  const auto said =
      sentences(recorded_results(study, file.path(), /*keeps_seeds=*/false).results).at(0);
  EXPECT_TRUE(said.ends_with("; 2 of 2 runs of hybrid_norm crashed")) << said;
  EXPECT_EQ(said.find("missing"), std::string::npos) << said;
}

/// A file with a run of each kind, for the seeds 1 to 5 of an arm.
std::string runs_with_losses() {
  return "scheme,model.layers,seed,state,why,value,training_loss,validation_loss\n"
         "pre_norm,4,1,finished,,2,2,2\n"
         "pre_norm,4,2,finished,,4,4,4\n"
         "pre_norm,4,3,failed,validation loss 5 above 4.5,,5,5\n"
         "pre_norm,4,4,failed,diverged at step 9,,2,2\n"
         "pre_norm,4,5,failed,no finite validation loss,,2,2\n";
}

TEST(RecordedResults, FailAboveTheThresholdOfTheStudy) {
  using State = SeedRun::State;
  const CsvFile file(runs_with_losses());
  auto study = sample_results({.schemes = {"pre_norm"}, .layers = {"4", "16"}}).study;
  const auto states = [&](double fails_above, std::size_t changed) {
    study.fails_above = fails_above;
    const auto recorded = recorded_results(study, file.path(), /*keeps_seeds=*/false);
    EXPECT_EQ(recorded.changed_states, changed);
    std::vector<State> out;
    for (const auto& run : recorded.results.arms[0].seed_runs) out.push_back(run.state);
    return out;
  };
  const auto finished = State::finished, failed = State::failed;
  EXPECT_EQ(states(4.5, 0), (std::vector{finished, finished, failed, failed, failed}));
  EXPECT_EQ(states(3, 1), (std::vector{finished, failed, failed, failed, failed}));
  EXPECT_EQ(states(5, 1), (std::vector{finished, finished, finished, failed, failed}));
  EXPECT_EQ(states(0, 1), (std::vector{finished, finished, finished, failed, failed}));
  study.fails_above = 3;
  auto runs = recorded_results(study, file.path(), false).results.arms[0].seed_runs;
  EXPECT_EQ(runs[1].reason, "validation loss 4 above 3.0");
  EXPECT_TRUE(std::isnan(runs[1].value));
  EXPECT_EQ(runs[3].reason, "diverged at step 9");
  study.fails_above = 6;
  runs = recorded_results(study, file.path(), false).results.arms[0].seed_runs;
  EXPECT_EQ(runs[2].reason, "");
  EXPECT_EQ(runs[2].value, 5);
}

TEST(RecordedResults, RefuseAFailedRunThatFinishesWithoutItsValues) {
  auto study = sample_results({.schemes = {"pre_norm"}, .layers = {"4", "16"}}).study;
  study.measure.kind = Measure::Kind::val_gap;
  study.fails_above = 6;
  const CsvFile file(runs_with_losses());
  try {
    recorded_results(study, file.path(), /*keeps_seeds=*/false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_EQ(std::string(error.what()),
              file.path().string() +
                  ", line 4: the run finishes with fails_above = 6.0, but has failed in the file, "
                  "which has no validation loss above the entropy of failed runs; run the study, "
                  "or take the fails_above of the file");
  }
}

TEST(RecordedResults, RefuseOtherFiles) {
  const auto study = judged().study;
  const auto refusal = [&](const std::string& content) -> std::string {
    const CsvFile file(content);
    try {
      recorded_results(study, file.path(), false);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      const std::string what = error.what();
      return what.substr(what.find("runs.csv") + 8);
    }
    return "none";
  };
  const std::string header = "name,scheme,model.layers,seed,state,value\n";
  EXPECT_EQ(refusal(""), ", line 1: wanted the header of a runs.csv, but the file is empty");
  EXPECT_EQ(refusal("name,seed\n"), ", line 1: has no column \"state\" of study sample");
  EXPECT_EQ(refusal(header), ", line 1: has no runs");
  EXPECT_EQ(refusal(header + "a,pre_norm,5,1,finished,1\n"),
            ", line 2: study sample, size smoke, has no arm with model.layers \"5\"");
  EXPECT_EQ(refusal(header + "a,pre_norms,04,1,finished,1\n"),
            ", line 2: study sample, size smoke, has no arm with scheme \"pre_norms\"");
  EXPECT_EQ(refusal(header + "a,pre_norm,4.00,1,finished,\n"),
            ", line 2: value must be a number, because the run has finished, but is \"\"");
  EXPECT_EQ(refusal(header + "a,pre_norm,4,x,finished,1\n"),
            ", line 2: seed must be an integer, but is \"x\"");
  EXPECT_EQ(refusal(header + "a,pre_norm,4,1,done,1\n"),
            ", line 2: state must be finished, failed, crashed or missing, but is \"done\"");
  EXPECT_EQ(refusal(header + "a,pre_norm,4,1,finished,much\n"),
            ", line 2: value must be a number, but is \"much\"");
  EXPECT_EQ(refusal(header + "a,pre_norm,4,1,finished\n"),
            ", line 2: has 5 fields, but the header has 6");
  const std::string row = "\"a\nb\",pre_norm,4,1,finished,1\n";
  EXPECT_EQ(refusal(header + row + row),
            ", line 4: a second run of \"pre_norm, layers 4\" with seed 1");
  EXPECT_EQ(refusal(header + "\"a,pre_norm\n"), ", line 2: a quote is not closed");
}

}  // namespace
}  // namespace evenkeel::study
