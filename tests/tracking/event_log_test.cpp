// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "evenkeel/base/file.h"
#include "evenkeel/tracking/event_reader.h"
#include "store/faulty_system_calls.h"
#include "store/support.h"
#include "tracking/scalars.h"

namespace evenkeel::tracking {
namespace {

using store::fault_plan;

class EventFiles : public ::testing::Test {
 protected:
  void SetUp() override { fault_plan = {}; }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& name : folder_.entries()) {
      if (name.starts_with("events.")) out.push_back(name);
    }
    return out;
  }

  /// "STEP TAG VALUE" of all files, in their order.
  std::vector<std::string> scalars() const {
    std::vector<std::string> out;
    for (const auto& name : names()) {
      const auto content = read_file(run_ / name);
      for (const auto& event : read_events(content)) {
        for (const auto& [tag, bytes] : event.values) {
          if (const auto value = scalar_in(bytes)) {
            out.push_back(text(event.step, " ", std::string(tag), " ", *value));
          }
        }
      }
    }
    return out;
  }

  std::int64_t tags_named(const std::string& wanted) const {
    std::int64_t count = 0;
    for (const auto& name : names()) {
      const auto content = read_file(run_ / name);
      for (const auto& event : read_events(content)) {
        count += std::count_if(event.values.begin(), event.values.end(),
                               [&](const auto& value) { return value.tag == wanted; });
      }
    }
    return count;
  }

  std::filesystem::path run_ = store::fresh_folder();
  store::Directory folder_ = store::Directory(run_).with(store::faulty_system());
  Session session_ = {.hparams = {{"lr", 0.1}, {"tied", true}, {"scheme", "pre_norm"}},
                      .texts = {{"run.toml", "[train]\nsteps = 3\n"}}};
};

nlohmann::ordered_json lr_line(int step) {
  return {{"step", step}, {"lr", step}};
}

TEST_F(EventFiles, HaveTheRecordsOfARun) {
  EventLog log(folder_, 1);
  log.start(0, session_);
  log.add_metrics(lr_line(1));
  log.add_metrics(lr_line(2));
  EXPECT_TRUE(scalars().empty()) << "they wait";
  log.flush();
  EXPECT_EQ(scalars(), (std::vector<std::string>{"1 optim/LR 1", "2 optim/LR 2"}));
  EXPECT_EQ(names().size(), 1U);
  EXPECT_EQ(tags_named("_hparams_/session_start_info"), 1);
  EXPECT_EQ(tags_named("run.toml/text_summary"), 1);
}

// Steps 1 to 4 were written; the checkpoint is that of step 2.
TEST_F(EventFiles, HaveEachStepOnceAfterResumes) {
  {
    EventLog log(folder_, 1);
    log.start(0, session_);
    for (int step = 1; step <= 4; ++step) log.add_metrics(lr_line(step));
    log.flush();
  }
  const auto first = names().at(0);
  store::put(run_ / first, read_file(run_ / first) + "torn");
  store::put(run_ / "metrics.jsonl", "{\"step\":1,\"lr\":1}\n{\"step\":2,\"lr\":2}\n");
  for (int resume = 0; resume < 3; ++resume) {
    EventLog log(folder_, 1);
    log.start(2, session_);
    log.add_metrics(lr_line(3));
    log.flush();
    EXPECT_EQ(scalars(),
              (std::vector<std::string>{"1 optim/LR 1", "2 optim/LR 2", "3 optim/LR 3"}));
    EXPECT_EQ(names().size(), 2U);
    EXPECT_EQ(names().front(), first) << "older files come first";
    EXPECT_EQ(tags_named("_hparams_/session_start_info"), 1);
    const auto content = read_file(run_ / names().back());
    const auto events = read_events(content);
    EXPECT_TRUE(events.at(1).is_start);
    EXPECT_EQ(events.at(1).step, 3);
  }
}

TEST_F(EventFiles, AreCompletedFromTheRecords) {
  store::put(run_ / "metrics.jsonl", "{\"step\":1,\"lr\":1}\n{\"step\":1,\"val_loss\":2}\n");
  store::put(run_ / "evaluations.jsonl",
             "{\"step\":1,\"command\":\"train\",\"label\":\"a\",\"metric\":\"acc\",\"value\":1}\n"
             "{\"step\":1,\"command\":\"eval\",\"label\":\"b\",\"metric\":\"acc\",\"value\":1}\n");
  store::put(run_ / "probes.jsonl",
             "{\"step\":1,\"on\":\"training\",\"measure\":\"kurtosis\",\"part\":\"\",\"first\":1,"
             "\"values\":[3]}\n");
  EventLog(folder_, 1).start(1, session_);
  EXPECT_EQ(scalars(),
            (std::vector<std::string>{"1 optim/LR 1", "1 eval/loss 2",
                                      "1 probe/kurtosis/block 01 3", "1 eval/downstream/a_acc 1"}));
}

TEST_F(EventFiles, OfAFullDiskEndWithAWholeRecord) {
  EventLog log(folder_, 1);
  log.start(0, session_);
  log.add_metrics(lr_line(1));
  log.flush();
  const auto size = std::filesystem::file_size(run_ / names().at(0));
  log.add_metrics(lr_line(2));
  fault_plan = {.at = 3, .error = ENOSPC, .short_writes = true};
  EXPECT_THROW(log.flush(), store::FullDisk);
  EXPECT_EQ(std::filesystem::file_size(run_ / names().at(0)), size);
}

TEST_F(EventFiles, AreNotWrittenThroughALink) {
  EventLog log(folder_, 1);
  log.start(0, session_);
  const auto name = names().at(0);
  std::filesystem::rename(run_ / name, run_ / "mine");
  std::filesystem::create_symlink("mine", run_ / name);
  log.add_metrics(lr_line(1));
  EXPECT_THROW(log.flush(), Error);
}

}  // namespace
}  // namespace evenkeel::tracking
