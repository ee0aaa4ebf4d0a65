// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/append_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "store/faulty_system_calls.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

class Append : public ::testing::Test {
 protected:
  void SetUp() override { fault_plan = {}; }
  std::string content() const { return read_file(path_); }
  std::string append(const char* lines) {
    return error_of([&] { file_.append(lines); });
  }

  std::filesystem::path path_ = fresh_folder() / "log.txt";
  AppendFile file_{Directory(path_.parent_path()).with(faulty_system()), "log.txt"};
};

TEST_F(Append, LosesNoLineToAFullDiskThatGetsSpaceAgain) {
  EXPECT_EQ(append("one\n"), "no error");
  fault_plan = {.at = 2, .persistent = true, .error = ENOSPC};
  EXPECT_EQ(append("two\n"), "74 " + path_.string() + ": cannot append: No space left on device");
  EXPECT_EQ(append("three\n").substr(0, 3), "74 ");
  EXPECT_EQ(content(), "one\n");
  fault_plan = {};
  EXPECT_EQ(append("four\n"), "no error");
  EXPECT_EQ(content(), "one\ntwo\nthree\nfour\n");
}

TEST_F(Append, LosesNoLineToAnyFailedCall) {
  constexpr int kCalls = 4;
  std::string wanted;
  for (int k = 1; k <= kCalls; ++k) {
    fault_plan = {.at = k, .error = EIO};
    append("a\n");
    fault_plan = {};
    EXPECT_EQ(append("b\n"), "no error");
    EXPECT_EQ(content(), wanted += "a\nb\n") << "call " << k << " failed";
  }
}

TEST_F(Append, LeavesNoPartOfALineThatWasCutOff) {
  EXPECT_EQ(append("one\n"), "no error");
  fault_plan = {.at = 3, .persistent = true, .error = ENOSPC, .short_writes = true};
  EXPECT_EQ(append("two\n").substr(0, 3), "74 ");  // half of it, and then not even ftruncate works
  fault_plan = {};
  EXPECT_EQ(append("three\n"), "no error");
  EXPECT_EQ(content(), "one\ntwo\nthree\n");
}

TEST_F(Append, StartsANewLineAfterOneThatACrashCutOff) {
  put(path_, "one\ntw");
  EXPECT_EQ(append("three\n"), "no error");
  EXPECT_EQ(content(), "one\ntw\nthree\n");
}

TEST_F(Append, SurvivesShortAndInterruptedWrites) {
  fault_plan.short_writes = true;
  EXPECT_EQ(append("one line of some length\n"), "no error");
  EXPECT_EQ(content(), "one line of some length\n");
}

TEST_F(Append, IsFlushedOnceAfterAChange) {
  const auto flushes = [&] {
    fault_plan = {};
    file_.flush();
    return std::count(fault_plan.trace.begin(), fault_plan.trace.end(), "fsync log.txt");
  };
  EXPECT_EQ(flushes(), 0);
  append("one\n");
  EXPECT_EQ(flushes(), 1);
  EXPECT_EQ(flushes(), 0);
}

// The kernel may have dropped the data, and would report success the second time.
TEST_F(Append, IsWrittenAnewAfterAFailedFlush) {
  append("one\n");
  fault_plan = {.at = 2, .error = EIO};
  EXPECT_EQ(error_of([&] { file_.flush(); }),
            "74 " + path_.string() + ": cannot flush: Input/output error");
  fault_plan = {};
  file_.flush();
  const auto& trace = fault_plan.trace;
  EXPECT_EQ(std::count(trace.begin(), trace.end(), "fsync log.txt"), 0);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), text("fsync log.txt.new-", ::getpid())), 1);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), "rename log.txt"), 1);
  EXPECT_EQ(content(), "one\n");
}

}  // namespace
}  // namespace evenkeel::store
