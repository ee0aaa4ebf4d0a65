// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/report/report.h"

/// Reports of run folders that are damaged, or come from elsewhere.
namespace evenkeel::report {
namespace {

namespace fs = std::filesystem;

class ForeignRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(run_);
    fs::create_directories(run_);
    write_file(run_ / "run.toml", "scheme = \"pre_norm\"\n");
    write_file(run_ / "metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n");
  }
  void TearDown() override { fs::remove_all(run_); }
  std::string page() const { return read_file(run_ / "report.html"); }
  bool has(const std::string& part) const { return page().find(part) != std::string::npos; }

  fs::path run_ = fs::path(::testing::TempDir()) / text("record_losses-", ::getpid());
};

TEST_F(ForeignRun, SaysWhichRecordsWereLost) {
  write_file(run_ / "metrics.jsonl", "{\"step\": 1}\n{\"stop\": 1}\nno JSON\n");
  write_file(run_ / "health.jsonl",
             R"({"step": 6, "event": "records_missing", "detail": "probes.jsonl: the records of )"
             "step 5 are missing\"}\n");
  const auto losses = write_report({run_}, std::nullopt);
  EXPECT_EQ(losses, (std::vector<std::string>{
                        run_.string() + ": probes.jsonl: the records of step 5 are missing",
                        run_.string() + ": metrics.jsonl: 2 lines are damaged"}));
  EXPECT_TRUE(has("<p class=\"notice\">metrics.jsonl: 2 lines are damaged</p>"));
  EXPECT_TRUE(has("<p class=\"notice\">probes.jsonl: the records of step 5 are missing</p>"));
}

TEST_F(ForeignRun, IsNotReadOrWrittenThroughLinks) {
  const auto mine = run_ / "mine";
  write_file(mine, "precious");
  for (const auto* name : {"sample.txt", "report.html"}) fs::create_symlink(mine, run_ / name);
  write_report({run_}, std::nullopt);
  EXPECT_EQ(read_file(mine), "precious");
  EXPECT_FALSE(has("precious"));
  EXPECT_TRUE(has("sample.txt: is a symbolic link"));
}

}  // namespace
}  // namespace evenkeel::report
