// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/store/json_lines.h"
#include "store/faulty_system_calls.h"
#include "store/support.h"

namespace evenkeel::train {
namespace {

using store::fault_plan;

class RecorderOfARun : public ::testing::Test {
 protected:
  void SetUp() override { fault_plan = {}; }

  std::vector<std::string> events() const {
    std::vector<std::string> details;
    for (const auto& record : store::read_records(folder_, "health.jsonl").records) {
      details.push_back(record.at("detail").get<std::string>());
    }
    return details;
  }
  static std::int64_t flushed(const char* name) {
    return std::count(fault_plan.trace.begin(), fault_plan.trace.end(),
                      std::string("fsync ") + name);
  }

  std::filesystem::path run_ = store::fresh_folder();
  store::Directory folder_ = store::Directory(run_).with(store::faulty_system());
  config::Config config_;
  Console console_{/*quiet=*/true};
  Recorder recorder_{folder_, config_, console_};
};

TEST_F(RecorderOfARun, FlushesChangedRecordsAndSummarizesAllFiles) {
  recorder_.record_failed_save(3, "full");
  fault_plan = {};
  const auto summaries = recorder_.flush();
  EXPECT_EQ(flushed("health.jsonl"), 1);
  EXPECT_EQ(flushed("metrics.jsonl"), 0);
  EXPECT_EQ(summaries.size(), 4U);
  EXPECT_EQ(summaries.at("health.jsonl").at("steps").dump(), "[[3,3,1]]");
  EXPECT_EQ(summaries.at("metrics.jsonl").at("size"), 0);
}

TEST_F(RecorderOfARun, WritesARecordOfAFullDiskLater) {
  fault_plan = {.at = 2, .persistent = true, .error = ENOSPC};
  recorder_.record_failed_save(3, "one");
  EXPECT_THROW(recorder_.flush(), store::FullDisk);
  EXPECT_TRUE(events().empty());
  fault_plan = {};
  recorder_.record_failed_save(4, "two");
  EXPECT_EQ(events(), (std::vector<std::string>{"one", "two"}));
}

// A defect of the records costs no checkpoint.
TEST_F(RecorderOfARun, SummarizesRecordsThatCannotBeFlushed) {
  recorder_.record_failed_save(3, "one");
  const auto size = std::filesystem::file_size(run_ / "health.jsonl");
  fault_plan = {.at = 2, .error = EIO};
  EXPECT_EQ(recorder_.flush().at("health.jsonl").at("size"), size);
}

TEST_F(RecorderOfARun, RecordsALossOnce) {
  store::put(run_ / "metrics.jsonl", "{\"step\":1}\n{\"stop\":2}\n");
  for (int resume = 0; resume < 2; ++resume) {
    Recorder resumed(folder_, config_, console_);
    resumed.resume(2, {{"metrics.jsonl", {{"size", 22U}, {"digest", ""}}}});
  }
  EXPECT_EQ(events().at(0),
            "metrics.jsonl: 1 line is damaged and moved to metrics.jsonl.damaged; records were "
            "changed or removed after the checkpoint was written");
  EXPECT_EQ(std::filesystem::file_size(run_ / "metrics.jsonl"), 11U);
}

TEST(ConsoleLog, GetsAllLinesOfATimeWithoutSpace) {
  const auto run = store::fresh_folder();
  const auto folder = store::Directory(run).with(store::faulty_system());
  fault_plan = {};
  Console console(/*quiet=*/true);
  console.info("before");
  console.log_to(folder, "log.txt");
  fault_plan = {.at = 2, .persistent = true, .error = ENOSPC};
  console.info("full");
  console.info("still full");
  EXPECT_EQ(read_file(run / "log.txt"), "before\n");
  fault_plan = {};
  console.info("space");
  EXPECT_EQ(read_file(run / "log.txt"), "before\nfull\nstill full\nspace\n");
}

}  // namespace
}  // namespace evenkeel::train
