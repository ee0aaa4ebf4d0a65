// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_texts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/study/runs/job_scheduler.h"
#include "evenkeel/study/runs/run_cache.h"
#include "evenkeel/tasks/task_files.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

const std::vector<RunText> kTexts = {
    {"data.train", "train_digest", "aa", "files", {{"one.txt", "11"}, {"two.txt", "22"}}},
    {"data.validation", "validation_digest", "bb", "", {}},
    {"evaluate.texts", "evaluate_texts_digest", "cc", "", {}},
    {"evaluate.tasks", "evaluate_tasks_digest", "dd", "evaluate_tasks", {{"quiz.jsonl", "44"}}}};

/// A run folder, and a scheduler whose processes end at once.
class RunOfAText : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(run_);
    fs::create_directories(root_ / "logs");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string difference(const std::string& provenance) {
    write_file(run_ / "provenance.json", provenance);
    return text_difference(run_, kTexts);
  }

  /// Writes a finished run. \param train  the digest of its training text
  void finish(const std::string& train) {
    fs::create_directories(run_);
    write_file(run_ / "provenance.json", R"({"data": {"train_digest": ")" + train + R"("}})");
    write_file(run_ / "run.toml", "");
    write_file(run_ / "metrics.jsonl", "{\"step\": 1, \"val_loss\": 1}\n");
    write_file(run_ / "status.json", R"({"state": "finished", "step": 1})");
  }

  /// Runs the job. \param script  $6: the folder of the run
  /// \return the state of the job, or the error
  std::string result(const std::string& script) {
    const auto program = root_ / "program";
    write_file(program, "#!/bin/sh\n" + script);
    fs::permissions(program, fs::perms::owner_all);
    ProgressTable progress_table(true);
    JobScheduler scheduler({.executable = program,
                            .run_cache = run_.parent_path(),
                            .logs = root_ / "logs",
                            .stop_requested = [] { return false; }},
                           progress_table);
    Job job{.key = "key", .name = "arm, seed 1", .config = config::resolve({})};
    job.texts = std::make_shared<const std::vector<RunText>>(kTexts);
    try {
      const auto state = scheduler.run({job}).at("key").state;
      return state == JobResult::State::finished ? "finished" : "not finished";
    } catch (const Error& error) {
      return text(static_cast<int>(error.exit()), ": ", error.what());
    }
  }

  fs::path root_ = fs::path(::testing::TempDir()) / text("run_texts-", ::getpid());
  fs::path run_ = root_ / "pool" / "key";
};

TEST_F(RunOfAText, NamesTheFirstFileThatDiffers) {
  EXPECT_EQ(difference(R"({"data": {"train_digest": "ab", "files": [{"path": "one.txt",
      "digest": "11"}, {"path": "two.txt", "digest": "23"}]}})"),
            "two.txt (data.train) has the digest 22 here, but 23 in the run");
  EXPECT_EQ(difference(R"({"data": {"train_digest": "aa", "validation_digest": "bc"}})"),
            "data.validation has the digest bb here, but bc in the run");
  EXPECT_EQ(difference(R"({"data": {"evaluate_texts_digest": "cd"}})"),
            "evaluate.texts has the digest cc here, but cd in the run");
  EXPECT_EQ(difference(R"({"data": {"evaluate_tasks_digest": "de", "evaluate_tasks": [
      {"path": "quiz.jsonl", "digest": "45"}]}})"),
            "quiz.jsonl (evaluate.tasks) has the digest 44 here, but 45 in the run");
}

TEST_F(RunOfAText, AcceptsDigestsThatAreEqualOrMissing) {
  EXPECT_EQ(text_difference(root_ / "nowhere", kTexts), "");
  EXPECT_EQ(text_difference(run_, kTexts), "");
  for (const char* const provenance :
       {"", "[]", "{}", R"({"data": "book"})", R"({"data": {"train": "book"}})",
        R"({"data": {"train_digest": 3}})",
        R"({"data": {"train_digest": "aa", "validation_digest": "bb"}})"})
    EXPECT_EQ(difference(provenance), "") << provenance;
}

TEST_F(RunOfAText, IsSetAsideIfTheTextChangedBeforeTheRunReadIt) {
  const auto message = text(
      "78: an input changed while the study ran: data.train has the digest aa here, but ab in ",
      "the run ", run_.string(), "; the run is now key.damaged and is not used; restore ",
      "the file and give the command again, or name another folder with --run");
  finish("ab");
  fs::rename(run_, root_ / "finished");
  EXPECT_EQ(result("cp -r " + (root_ / "finished").string() + " $6\n"), message);
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_TRUE(fs::exists(root_ / "pool" / "key.damaged" / "status.json"));
  fs::remove_all(root_ / "pool" / "key.damaged");
  finish("ab");  // the cache has one of a former study
  EXPECT_EQ(result("exit 70\n"), message);
  EXPECT_FALSE(fs::exists(run_));
}

/// A request file of one question. \return its path
std::string task_file(const fs::path& path, const std::string& question) {
  std::string rows;
  for (const char* const choice : {"0", "1"}) {
    rows += text(R"({"doc_id": 0, "idx": )", choice, R"(, "label": 1, "request": {"context": ")",
                 question, R"(", "continuation": " choice )", choice, "\"}}\n");
  }
  write_file(path, rows);
  return path.string();
}

TEST_F(RunOfAText, ReadsTheTasks) {
  config::Evaluate evaluate;
  evaluate.tasks = {task_file(root_ / "one.jsonl", "Q"), task_file(root_ / "two.jsonl", "R")};
  const auto found = run_tasks(evaluate);
  EXPECT_EQ(found.name, "evaluate.tasks");
  EXPECT_EQ(found.field, "evaluate_tasks_digest");
  EXPECT_EQ(found.files_field, "evaluate_tasks");
  ASSERT_EQ(found.files.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.files[i].path, evaluate.tasks[i]);
    EXPECT_EQ(found.files[i].digest, data::file_digest(evaluate.tasks[i]).xxh3);
  }
  EXPECT_EQ(found.digest, tasks::digest_of_tasks({found.files[0].digest, found.files[1].digest}));
}

// A pool of an older version has runs with tasks, whose keys hold the digest of each task.
TEST_F(RunOfAText, HasTheDigestOfEachTaskInItsKey) {
  EXPECT_EQ(digests_in_key(kTexts), "aabbcc44");
  EXPECT_EQ(digests_in_key({{"evaluate.tasks", "", "dd", "", {{"one", "44"}, {"two", "55"}}}}),
            "4455");
}

TEST_F(RunOfAText, HasAKeyThatDependsOnTheTaskFile) {
  auto config = config::resolve({});
  RunCacheKeys cache_keys;
  const auto without = cache_keys.key(config, "float32");
  EXPECT_EQ(cache_keys.texts(config)->back().name, "data.validation");
  config.evaluate.tasks = {task_file(root_ / "one.jsonl", "Q")};
  const auto with = cache_keys.key(config, "float32");
  EXPECT_NE(with, without);
  EXPECT_EQ(cache_keys.texts(config)->back().digest,
            data::file_digest(config.evaluate.tasks[0]).xxh3);
  task_file(root_ / "one.jsonl", "R");
  EXPECT_EQ(cache_keys.key(config, "float32"), with);  // each task is read once
  EXPECT_NE(RunCacheKeys().key(config, "float32"), with);
}

TEST_F(RunOfAText, IsTakenFromTheCacheIfTheTextIsTheSame) {
  finish("aa");
  EXPECT_EQ(result("exit 70\n"), "finished");
  fs::remove(run_ / "provenance.json");  // of an older version
  EXPECT_EQ(result("exit 70\n"), "finished");
}

}  // namespace
}  // namespace evenkeel::study
