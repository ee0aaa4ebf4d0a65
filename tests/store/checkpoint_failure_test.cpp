// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/manifest.h"
#include "store/faulty_system_calls.h"
#include "store/support.h"

/// Every call into the system that a save makes fails, or is the last that the process makes.
namespace evenkeel::store {
namespace {

constexpr int kOld = 1;
constexpr int kNew = 2;

struct Case {
  std::int64_t old_step = 0, new_step = 0;
};

const Case kNextStep = {10, 20};
const Case kSameStep = {10, 10};

void save(const Lock& run, std::int64_t step, int mark) {
  save_checkpoint(faulty_system(), run, small_content(step, mark), 1);
}

/// A run with one checkpoint, marked kOld.
std::filesystem::path run_with_one(const Case& each) {
  const auto run = fresh_folder();
  const Lock lock(run);
  fault_plan = {};
  save(lock, each.old_step, kOld);
  return run;
}

int calls_of_a_save(const Case& each) {
  const auto run = run_with_one(each);
  const Lock lock(run);
  fault_plan = {};
  save(lock, each.new_step, kNew);
  return fault_plan.calls;
}

int mark_found(const std::filesystem::path& run) {
  const auto newest = newest_checkpoint(run);
  EXPECT_TRUE(newest.skipped.empty());
  return newest.found ? newest.found->state.at("mark").get<int>() : 0;
}

bool has_leftovers(const std::filesystem::path& run) {
  const auto entries = directory_entries(run / "checkpoints");
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& each) { return each.filename().string().starts_with('.'); });
}

/// Of the same step, by the same process: what the failed one left must not be in the way.
void expect_next_save_works(const std::filesystem::path& run, std::int64_t step) {
  constexpr int kNext = 3;
  const Lock lock(run);
  fault_plan = {};
  save(lock, step, kNext);
  EXPECT_EQ(mark_found(run), kNext);
  EXPECT_EQ(checkpoint_steps(run), std::vector<std::int64_t>{step});
  EXPECT_FALSE(has_leftovers(run));
}

/// True if the k-th call came after the new checkpoint was durable under its name.
bool durable_before(int k) {
  const auto named = [](const std::string& call) {
    return call.starts_with("rename step-") || call.starts_with("exchange step-");
  };
  const auto end = fault_plan.trace.begin() + k - 1;
  const auto at = std::find_if(fault_plan.trace.begin(), end, named);
  return std::find(at, end, "fsync checkpoints") != end;
}

/// True if the last call before the k-th one put the new checkpoint under its name.
bool named_before(int k) {
  const auto named = [](const std::string& call) {
    return call.starts_with("rename step-") || call.starts_with("exchange step-");
  };
  const auto end = fault_plan.trace.begin() + k - 1;
  return std::find_if(fault_plan.trace.begin(), end, named) != end;
}

void fail_each_call(const Case& each, int error, bool persistent) {
  const int calls = calls_of_a_save(each);
  ASSERT_GT(calls, 35);
  for (int k = 1; k <= calls; ++k) {
    SCOPED_TRACE(text("call ", k, " of ", calls, " fails with ", error,
                      persistent ? ", all later too" : ""));
    const auto run = run_with_one(each);
    {
      const Lock lock(run);
      fault_plan = {.at = k, .persistent = persistent, .error = error};
      const auto said = error_of([&] { save(lock, each.new_step, kNew); });
      EXPECT_EQ(said.substr(0, 3), durable_before(k) ? "no " : "74 ") << said;
    }
    EXPECT_EQ(mark_found(run), named_before(k) ? kNew : kOld);
    const Directory checkpoints(run / "checkpoints");
    for (const auto step : listed_steps(checkpoints)) {
      EXPECT_EQ(check_checkpoint(checkpoints, step, CheckLevel::digests).defect, "");
    }
    expect_next_save_works(run, each.new_step);
  }
}

TEST(FailedSave, LeavesTheOldCheckpointWhenACallFails) {
  for (const auto error : {ENOSPC, EIO}) fail_each_call(kNextStep, error, false);
}

TEST(FailedSave, LeavesTheOldCheckpointWhenAllLaterCallsFail) {
  for (const auto error : {ENOSPC, EIO}) fail_each_call(kNextStep, error, true);
}

TEST(FailedSave, LeavesTheOldCheckpointOfTheSameStep) {
  for (const bool persistent : {false, true}) fail_each_call(kSameStep, EIO, persistent);
}

TEST(FailedSave, NeverFlushesADescriptorTwice) {
  const int calls = calls_of_a_save(kNextStep);
  for (int k = 1; k <= calls; ++k) {
    const auto run = run_with_one(kNextStep);
    const Lock lock(run);
    fault_plan = {.at = k, .error = EIO};
    const auto said = error_of([&] { save(lock, 20, kNew); });
    EXPECT_EQ(said == "no error", durable_before(k));
    const auto failed = fault_plan.trace.at(static_cast<std::size_t>(k) - 1);
    if (!failed.starts_with("fsync") || failed == "fsync checkpoints") continue;
    EXPECT_EQ(std::count(fault_plan.trace.begin(), fault_plan.trace.end(), failed), 1) << failed;
  }
}

TEST(FailedSave, ReportsTheSystemError) {
  const auto run = run_with_one(kNextStep);
  const Lock lock(run);
  fault_plan = {};
  auto system = faulty_system();
  system.write = [](int, const void*, std::size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  const auto said = error_of([&] { save_checkpoint(system, lock, small_content(20), 1); });
  EXPECT_TRUE(said.starts_with("74 " + (run / "checkpoints/.tmp-step-00000020-").string())) << said;
  EXPECT_TRUE(said.ends_with("/model.safetensors: cannot write: No space left on device")) << said;
  EXPECT_FALSE(has_leftovers(run));
}

/// Saves in a child that ends before its k-th call. \return whether the child acknowledged
bool save_in_dying_child(const std::filesystem::path& run, std::int64_t step, int k) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const auto child = ::fork();
  if (child == 0) {
    const Lock lock(run);
    fault_plan = {.at = k, .exits = true};
    save(lock, step, kNew);
    ::_exit(::write(pipe[1], "x", 1) == 1 ? 0 : 1);
  }
  ::close(pipe[1]);
  char byte = 0;
  const bool acknowledged = ::read(pipe[0], &byte, 1) == 1;
  ::close(pipe[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), acknowledged ? 0 : 9);
  return acknowledged;
}

void die_at_each_call(const Case& each) {
  const int calls = calls_of_a_save(each);
  for (int k = 1; k <= calls + 1; ++k) {
    SCOPED_TRACE(text("dies before call ", k, " of ", calls));
    const auto run = run_with_one(each);
    const bool acknowledged = save_in_dying_child(run, each.new_step, k);
    EXPECT_EQ(acknowledged, k > calls);
    const auto mark = mark_found(run);
    EXPECT_TRUE(mark == kNew || (mark == kOld && !acknowledged)) << mark;
    expect_next_save_works(run, each.new_step);
  }
}

TEST(KilledSave, LeavesTheOldOrTheNewCheckpoint) {
  die_at_each_call(kNextStep);
}

TEST(KilledSave, LeavesTheOldOrTheNewCheckpointOfTheSameStep) {
  die_at_each_call(kSameStep);
}

}  // namespace
}  // namespace evenkeel::store
