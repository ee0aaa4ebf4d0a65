// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_leases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;
using Lease = RunLeases::Claim;

constexpr double kLong = 3600;  // seconds: no lease is stolen
constexpr double kShort = 0.3;

class RunLeasesTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(pool_); }

  /// A claim after the timeout; the first one, before it, must fail.
  static Lease claim_after_timeout(RunLeases& leases) {
    EXPECT_EQ(leases.claim("run"), Lease::held_elsewhere);
    std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * kShort));
    return leases.claim("run");
  }

  const fs::path pool_ = fs::path(::testing::TempDir()) / "run_leases";
};

TEST_F(RunLeasesTest, OneWorkerGetsARun) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kLong);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  EXPECT_EQ(two.claim("run"), Lease::held_elsewhere);
  EXPECT_EQ(two.other_worker("run"), "one");
  EXPECT_EQ(two.claim("another"), Lease::owned);
}

TEST_F(RunLeasesTest, OfManyThatTryAtOnceOneGetsIt) {
  constexpr std::size_t kWorkers = 8;
  constexpr int kRounds = 50;
  std::deque<RunLeases> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) workers.emplace_back(pool_, text(i), kLong);
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> owners = 0;
    std::vector<std::thread> threads;
    for (auto& each : workers) {
      threads.emplace_back([&] { owners += each.claim(text(round)) == Lease::owned ? 1 : 0; });
    }
    for (auto& each : threads) each.join();
    EXPECT_EQ(owners, 1);
  }
}

TEST_F(RunLeasesTest, AReleasedRunIsFree) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kLong);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  one.release("run");
  EXPECT_FALSE(one.holds("run"));
  EXPECT_EQ(two.claim("run"), Lease::owned);
  EXPECT_EQ(one.claim("run"), Lease::held_elsewhere);
}

TEST_F(RunLeasesTest, AWorkerThatEndsReleasesItsRuns) {
  RunLeases two(pool_, "two", kLong);
  {
    RunLeases one(pool_, "one", kLong);
    EXPECT_EQ(one.claim("run"), Lease::owned);
    EXPECT_EQ(two.claim("run"), Lease::held_elsewhere);
  }
  EXPECT_EQ(two.claim("run"), Lease::owned);
}

TEST_F(RunLeasesTest, ASilentWorkerLosesItsRunAndLearnsIt) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kShort);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  EXPECT_EQ(claim_after_timeout(two), Lease::stolen);
  EXPECT_EQ(one.renew(true), std::vector<std::string>{"run"});
  EXPECT_FALSE(one.holds("run"));
  EXPECT_EQ(one.claim("run"), Lease::held_elsewhere);
  EXPECT_EQ(one.other_worker("run"), "two");
  EXPECT_TRUE(two.renew(true).empty());
}

TEST_F(RunLeasesTest, AWorkerWithAHeartbeatKeepsItsRun) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kShort);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.renew(true).empty());
    EXPECT_EQ(two.claim("run"), Lease::held_elsewhere);
    std::this_thread::sleep_for(std::chrono::duration<double>(kShort / 2));
  }
}

// A worker that dies between the creation and the first write leaves an empty file.
TEST_F(RunLeasesTest, AnEmptyLeaseIsStolenAfterTheTimeout) {
  RunLeases two(pool_, "two", kShort);
  write_file(pool_ / ".leases" / "run.1", "");
  EXPECT_EQ(claim_after_timeout(two), Lease::stolen);
}

// A network file system may show the thief's new file late; the old file says it, too.
TEST_F(RunLeasesTest, TheThiefWritesIntoTheOldLease) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kShort);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  EXPECT_EQ(claim_after_timeout(two), Lease::stolen);
  fs::rename(pool_ / ".leases" / "run.2", pool_ / ".leases" / "hidden");
  EXPECT_EQ(one.renew(true), std::vector<std::string>{"run"});
}

TEST_F(RunLeasesTest, ACrashCountsForTheWorkersThatSawItHappen) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kLong);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  EXPECT_EQ(two.claim("run"), Lease::held_elsewhere);
  one.release("run", "exit code 70: a bug");
  EXPECT_EQ(two.claim("run"), Lease::crashed_elsewhere);
  EXPECT_EQ(two.crash_reason("run"), "exit code 70: a bug");
  RunLeases later(pool_, "later", kLong);  // the same command again tries again
  EXPECT_EQ(later.claim("run"), Lease::owned);
}

TEST_F(RunLeasesTest, RemovesTheLeasesOfAnEndedRun) {
  RunLeases one(pool_, "one", kLong), two(pool_, "two", kLong);
  EXPECT_EQ(one.claim("run"), Lease::owned);
  one.release("run");
  EXPECT_EQ(two.claim("run"), Lease::owned);
  EXPECT_EQ(two.claim("run.1"), Lease::owned);
  one.remove("run");
  EXPECT_FALSE(fs::exists(pool_ / ".leases" / "run.1"));
  EXPECT_FALSE(fs::exists(pool_ / ".leases" / "run.2"));
  EXPECT_TRUE(fs::exists(pool_ / ".leases" / "run.1.1"));
}

TEST(FenceRun, ReplacesTheLockOfASilentProcess) {
  const auto run = fs::path(::testing::TempDir()) / "fence_run";
  fs::remove_all(run);
  EXPECT_TRUE(fence_run(run, false));  // not begun
  fs::create_directories(run);
  const store::Lock lock(run);
  EXPECT_FALSE(fence_run(run, false));
  EXPECT_TRUE(lock.is_held());
  EXPECT_TRUE(fence_run(run, true));
  EXPECT_FALSE(lock.is_held());
  EXPECT_FALSE(store::is_locked(run));
}

}  // namespace
}  // namespace evenkeel::study
