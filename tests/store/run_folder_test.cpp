// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evenkeel/base/file.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

TEST(NewRunFolder, TakesTheFirstNumberThatIsFree) {
  const auto runs = fresh_folder() / "deep" / "runs";
  EXPECT_EQ(new_run_folder(runs, "post_ln-tiny"), runs / "post_ln-tiny-1");
  EXPECT_EQ(new_run_folder(runs, "post_ln-tiny"), runs / "post_ln-tiny-2");
  std::filesystem::remove(runs / "post_ln-tiny-1");
  EXPECT_EQ(new_run_folder(runs, "post_ln-tiny"), runs / "post_ln-tiny-1");
  put(runs / "pre_ln-tiny-1", "a file is in the way");
  EXPECT_EQ(new_run_folder(runs, "pre_ln-tiny"), runs / "pre_ln-tiny-2");
  EXPECT_TRUE(std::filesystem::is_directory(runs / "pre_ln-tiny-2"));
}

TEST(NewRunFolder, NamesTheFolderThatItCannotMake) {
  const auto runs = fresh_folder() / "runs";
  put(runs, "a file");
  EXPECT_EQ(error_of([&] { new_run_folder(runs, "a"); }),
            "74 " + (runs / "a-1").string() + ": cannot make the folder: Not a directory");
}

TEST(MakeRunFolder, AcceptsAnExistingFolder) {
  const auto run = fresh_folder() / "a" / "b";
  make_run_folder(run);
  make_run_folder(run);
  EXPECT_TRUE(std::filesystem::is_directory(run));
}

TEST(ListRuns, IsEmptyWithoutAFolder) {
  EXPECT_TRUE(list_runs(fresh_folder() / "none").empty());
}

TEST(ListRuns, ReportsStatusAndMetrics) {
  const auto runs = fresh_folder();
  const auto run = new_run_folder(runs, "post_ln-tiny");
  write_status(Directory(run), {"finished", 400, 400, "post_ln", "tiny"});
  JsonLinesFile metrics(run / "metrics.jsonl");
  metrics.append({{"step", 380}, {"loss", 2.5}, {"val_loss", 2.25}, {"val_gap", 0.125}});
  metrics.append({{"step", 390}, {"loss", 2.0}});
  const auto listed = list_runs(runs);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].folder, run);
  EXPECT_EQ(listed[0].scheme, "post_ln");
  EXPECT_EQ(listed[0].preset, "tiny");
  EXPECT_EQ(listed[0].state, "finished");
  EXPECT_EQ(listed[0].step, 400);
  EXPECT_EQ(listed[0].steps, 400);
  EXPECT_EQ(listed[0].loss, 2.0);
  EXPECT_EQ(listed[0].val_loss, 2.25);
  EXPECT_EQ(listed[0].val_gap, 0.125);
  EXPECT_GE(listed[0].age_seconds, 0);
}

TEST(ListRuns, OfARunIsThatRun) {
  const auto run = new_run_folder(fresh_folder(), "a");
  write_status(Directory(run), {"finished", 30, 40, "pre_norm", "tiny"});
  new_run_folder(run, "inner");
  put(run / "inner-1" / "run.toml", "");
  const auto listed = list_runs(run);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].folder, run);
  EXPECT_EQ(listed[0].step, 30);
}

TEST(Status, IsReadAsItWasWritten) {
  const auto run = new_run_folder(fresh_folder(), "a");
  EXPECT_FALSE(read_status(Directory(run)).has_value());
  write_status(Directory(run), {"finished", 30, 40, "pre_norm", "tiny", 0.25});
  const auto status = read_status(Directory(run));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->state, "finished");
  EXPECT_EQ(status->step, 30);
  EXPECT_EQ(status->steps, 40);
  EXPECT_EQ(status->scheme, "pre_norm");
  EXPECT_EQ(status->preset, "tiny");
  EXPECT_EQ(status->cpu_contention, 0.25);
  write_status(Directory(run), {"training", 0, 40, "pre_norm", "tiny"});
  EXPECT_FALSE(read_status(Directory(run))->cpu_contention.has_value());
  write_file(run / "status.json", "{\"state\": \"fini");
  EXPECT_FALSE(read_status(Directory(run)).has_value());
}

TEST(ListRuns, CallsARunInterruptedIfItsLockIsFree) {
  const auto runs = fresh_folder();
  const auto run = new_run_folder(runs, "a");
  write_status(Directory(run), {"training", 0, 400, "post_ln", "tiny"});
  JsonLinesFile(run / "metrics.jsonl").append({{"step", 30}});
  {
    const Lock lock(run);
    EXPECT_EQ(list_runs(runs).at(0).state, "training");
  }
  EXPECT_EQ(list_runs(runs).at(0).state, "interrupted");
  EXPECT_EQ(list_runs(runs).at(0).step, 30);  // the status lags behind
}

TEST(ListRuns, KnowsARunWithoutStatusByItsConfiguration) {
  const auto runs = fresh_folder();
  put(new_run_folder(runs, "empty") / "run.toml", "");
  put(new_run_folder(runs, "damaged") / "status.json", "{\"state\":");
  new_run_folder(runs, "other");
  put(runs / "notes.txt", "");
  const auto listed = list_runs(runs);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].state, "damaged");
  EXPECT_EQ(listed[1].state, "empty");
}

TEST(ListRuns, SortsByNameThenByNumber) {
  const auto runs = fresh_folder();
  for (const auto* name : {"b-1", "a-10", "a-9", "a", "a-2"}) {
    std::filesystem::create_directory(runs / name);
    put(runs / name / "run.toml", "");
  }
  std::string order;
  for (const auto& run : list_runs(runs)) order += run.folder.filename().string() + " ";
  EXPECT_EQ(order, "a a-2 a-9 a-10 b-1 ");
}

TEST(ListRuns, FindsRunsOfSubfolders) {
  const auto runs = fresh_folder();
  for (const auto* name : {"study/a-2", "study/a-1", "b", ".hidden/c", "b/checkpoints/d"}) {
    std::filesystem::create_directories(runs / name);
    put(runs / name / "run.toml", "");
  }
  std::filesystem::create_directory_symlink("study", runs / "link");
  std::string order;
  for (const auto& run : list_runs(runs)) order += relative(run.folder, runs).string() + " ";
  EXPECT_EQ(order, "b study/a-1 study/a-2 ");
}

TEST(ListRuns, ReportsTheBestLossAndTheMedianSpeed) {
  const auto run = new_run_folder(fresh_folder(), "a");
  put(run / "provenance.json", R"({"parameters": 1234})");
  write_status(Directory(run), {"finished", 3, 3, "pre_norm", "tiny"});
  JsonLinesFile metrics(run / "metrics.jsonl");
  metrics.append({{"step", 1}, {"tokens", 10}, {"tokens_per_s", 5.0}, {"val_loss", 2.0}});
  metrics.append({{"step", 2}, {"tokens", 20}, {"tokens_per_s", 1.0}, {"val_loss", 1.5}});
  metrics.append({{"step", 3}, {"tokens", 30}, {"tokens_per_s", 4.0}, {"val_loss", 1.75}});
  const auto listed = list_runs(run.parent_path()).at(0);
  EXPECT_EQ(listed.parameters, 1234);
  EXPECT_EQ(listed.tokens, 30);
  EXPECT_EQ(listed.tokens_per_second, 4.0);
  EXPECT_EQ(listed.val_loss, 1.75);
  EXPECT_EQ(listed.best_val_loss, 1.5);
}

TEST(ListRuns, CountsDamagedLines) {
  const auto runs = fresh_folder();
  const auto run = new_run_folder(runs, "a");
  put(run / "run.toml", "");
  put(run / "metrics.jsonl", "{\"step\":1,\"loss\":2.5}\n{\"stop\":2}\n");
  EXPECT_EQ(list_runs(runs).at(0).damaged_lines, 1);
  put(run / "metrics.jsonl.damaged", "one\ntwo\n");
  EXPECT_EQ(list_runs(runs).at(0).damaged_lines, 3);
  EXPECT_EQ(list_runs(runs).at(0).loss, 2.5);
}

TEST(ListRuns, FollowsNoLinkInsideARun) {
  const auto runs = fresh_folder();
  const auto run = new_run_folder(runs, "a");
  put(run / "run.toml", "");
  put(runs / "other.json", R"({"state": "finished", "step": 7, "scheme": "secret"})");
  std::filesystem::create_symlink("../other.json", run / "status.json");
  EXPECT_EQ(list_runs(runs).at(0).state, "damaged");
  EXPECT_EQ(list_runs(runs).at(0).scheme, "");
}

TEST(ImportHint, NamesTheVerbForAModelOfHuggingFace) {
  const auto folder = fresh_folder();
  EXPECT_EQ(import_hint(folder / "none"), "");
  put(folder / "config.json", "{}");
  EXPECT_EQ(import_hint(folder), "");
  put(folder / "model.safetensors", "");
  EXPECT_EQ(import_hint(folder), "; it is a model of Hugging Face: `evenkeel import " +
                                     folder.string() + " --output RUN` makes a run of it");
}

TEST(DeadTemporaries, AreRemoved) {
  const auto run = fresh_folder();
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);  // no process has this id now
  const auto parent = ::getppid();
  for (const auto& name : {text("report.html.new-", child), text("report.html.new-", parent),
                           text("sample.txt.new-", ::getpid()), text(".new-", child),
                           text("notes.new-", child, "x"), std::string("notes.new-")}) {
    put(run / name, "");
  }
  remove_dead_temporaries(Directory(run));
  EXPECT_EQ(Directory(run).entries(), (std::vector<std::string>{text(".new-", child), "notes.new-",
                                                                text("notes.new-", child, "x"),
                                                                text("report.html.new-", parent)}));
}

TEST(WriteStatus, RequiresAKnownState) {
  EXPECT_THROW(write_status(Directory(fresh_folder()), {"paused", 0, 0, "", ""}), std::logic_error);
}

}  // namespace
}  // namespace evenkeel::store
