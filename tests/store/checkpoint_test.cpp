// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "evenkeel/base/digest.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/lock.h"
#include "store/faulty_system_calls.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

using Steps = std::vector<std::int64_t>;

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override { fault_plan = {}; }

  void save(std::int64_t step, std::int64_t keep = 2, int mark = 0) {
    save_checkpoint(faulty_system(), lock_, small_content(step, mark), keep);
  }
  std::string entries() const { return checkpoint_entries(run_); }

  std::filesystem::path run_ = fresh_folder();
  Lock lock_{run_};
};

TEST_F(Checkpoint, IsFoundWithItsContent) {
  save_checkpoint(lock_, small_content(120, 7), 2);
  const auto newest = newest_checkpoint(run_);
  ASSERT_TRUE(newest.found);
  EXPECT_TRUE(newest.skipped.empty());
  EXPECT_EQ(newest.found->folder.path(), run_ / "checkpoints" / "step-00000120");
  EXPECT_EQ(newest.found->step, 120);
  EXPECT_EQ(newest.found->state, small_content(120, 7).state);
  EXPECT_EQ(newest.found->manifest.at("threads"), 2);
  const auto model = Safetensors::read(newest.found->folder, "model.safetensors");
  EXPECT_EQ(model.metadata().at("format"), "pt");
  EXPECT_EQ(model.entry("b.weight").shape, (std::vector<std::int64_t>{2, 3}));
  const auto optimizer = Safetensors::read(newest.found->folder, "optimizer.safetensors");
  EXPECT_EQ(*reinterpret_cast<const double*>(optimizer.data(optimizer.entry("moment"))), 0.1);
}

TEST_F(Checkpoint, DescribesItsFilesInTheManifest) {
  save(120);
  const auto folder = run_ / "checkpoints" / "step-00000120";
  const auto manifest = nlohmann::json::parse(read_file(folder / "MANIFEST.json"));
  const auto model = read_file(folder / "model.safetensors");
  const auto& described = manifest.at("files").at("model.safetensors");
  EXPECT_EQ(described.at("size"), model.size());
  EXPECT_EQ(described.at("digest"), digest(model.data(), model.size()));
  EXPECT_EQ(described.at("tensors").at("a.gain").dump(), R"({"dtype":"BF16","shape":[2]})");
  EXPECT_EQ(manifest.at("digest_kind"), "xxh3_128");
  EXPECT_EQ(manifest.at("step"), 120);
}

// The root digest is that of the manifest itself with 32 zeros in its place.
TEST_F(Checkpoint, HasARootDigestThatCanBeCheckedByHand) {
  save(120);
  auto content = read_file(run_ / "checkpoints" / "step-00000120" / "MANIFEST.json");
  const auto root = nlohmann::json::parse(content).at("root_digest").get<std::string>();
  content.replace(content.find(root), root.size(), std::string(32, '0'));
  EXPECT_EQ(digest(content.data(), content.size()), root);
}

TEST_F(Checkpoint, OfTheSameContentHasTheSameBytes) {
  save(10);
  const auto folder = run_ / "checkpoints" / "step-00000010";
  const auto before = read_file(folder / "MANIFEST.json");
  save(10);
  EXPECT_EQ(read_file(folder / "MANIFEST.json"), before);
}

TEST_F(Checkpoint, MayHaveNoTensors) {
  save_checkpoint(lock_, {}, 1);
  EXPECT_EQ(newest_checkpoint(run_).found->step, 0);
}

// Reliability, section 2: write, flush, close every file, the manifest last; flush the folder;
// rename; flush the parent; only then move older ones away, flush, and remove them.
constexpr const char* kProtocol[] = {"open checkpoints",
                                     "free_bytes checkpoints",
                                     "mkdir .tmp-step-00000020",
                                     "open .tmp-step-00000020",
                                     "create model.safetensors",
                                     "fallocate model.safetensors",
                                     "write model.safetensors",
                                     "fsync model.safetensors",
                                     "create optimizer.safetensors",
                                     "fallocate optimizer.safetensors",
                                     "write optimizer.safetensors",
                                     "fsync optimizer.safetensors",
                                     "create state.json",
                                     "fallocate state.json",
                                     "write state.json",
                                     "fsync state.json",
                                     "create MANIFEST.json",
                                     "fallocate MANIFEST.json",
                                     "write MANIFEST.json",
                                     "fsync MANIFEST.json",
                                     "fsync .tmp-step-00000020",
                                     "rename step-00000020",
                                     "fsync checkpoints",
                                     "rename .trash-step-00000010",
                                     "fsync checkpoints",
                                     "open .trash-step-00000010",
                                     "unlink MANIFEST.json",
                                     "unlink model.safetensors",
                                     "unlink optimizer.safetensors",
                                     "unlink state.json",
                                     "rmdir .trash-step-00000010"};

/// The system calls of the last save, without close and repetitions, temporary names without the
/// parts that belong to this process.
std::vector<std::string> traced_calls() {
  std::vector<std::string> calls;
  for (auto call : fault_plan.trace) {
    if (call.starts_with("close")) continue;
    const auto mine = text("-", ::getpid());
    if (call.ends_with(mine)) {
      call.erase(call.size() - mine.size());
      call.erase(call.rfind('-'));  // the number of the boot
    }
    if (calls.empty() || calls.back() != call) calls.push_back(call);  // several writes
  }
  return calls;
}

TEST_F(Checkpoint, IsSavedInTheOrderOfTheProtocol) {
  save(10, 1);
  fault_plan = {};
  save(20, 1);
  const auto run = run_.filename().string();
  std::vector<std::string> wanted = {"fsync " + run};
  wanted.insert(wanted.end(), std::begin(kProtocol), std::end(kProtocol));
  EXPECT_EQ(traced_calls(), wanted);
}

TEST_F(Checkpoint, SurvivesShortAndInterruptedWrites) {
  fault_plan.short_writes = true;
  save(10);
  EXPECT_EQ(newest_checkpoint(run_).found->step, 10);
}

TEST_F(Checkpoint, DoesNotNeedAFileSystemThatReservesSpace) {
  auto system = faulty_system();
  system.fallocate = [](int, int, off_t, off_t) {
    errno = EOPNOTSUPP;
    return -1;
  };
  save_checkpoint(system, lock_, small_content(10), 1);
  EXPECT_EQ(newest_checkpoint(run_).found->step, 10);
}

// Such as a file that is immutable or of another user.
TEST_F(Checkpoint, IsSavedWhereAnOlderOneCannotBeRemoved) {
  auto system = faulty_system();
  system.unlinkat = [](int, const char*, int) {
    errno = EPERM;
    return -1;
  };
  for (const std::int64_t step : {10, 20, 30}) {
    const auto left = save_checkpoint(system, lock_, small_content(step), 1);
    EXPECT_EQ(left.find("/checkpoints/.trash-step-00000010-") != std::string::npos, step > 10);
    EXPECT_EQ(left.ends_with(": cannot remove: Operation not permitted"), step > 10) << left;
    EXPECT_EQ(checkpoint_steps(run_), Steps{step});
  }
  save(40, 1);
  EXPECT_EQ(entries(), "step-00000040 ");
}

TEST_F(Checkpoint, DoesNotCountDamagedOnesAmongThoseToKeep) {
  for (const std::int64_t step : {10, 20, 30}) save(step, 3);
  std::filesystem::resize_file(run_ / "checkpoints/step-00000030/model.safetensors", 5);
  save(40, 2);
  EXPECT_EQ(checkpoint_steps(run_), (Steps{20, 30, 40}));
}

TEST_F(Checkpoint, RemovesLaterSteps) {
  save(10);
  save(30);
  save(20);
  EXPECT_EQ(checkpoint_steps(run_), (Steps{10, 20}));
  EXPECT_EQ(newest_checkpoint(run_).found->step, 20);
}

TEST_F(Checkpoint, ReplacesAWholeOneOfItsStepByASwap) {
  save(10, 1, 1);
  fault_plan = {};
  save(10, 1, 2);
  EXPECT_EQ(newest_checkpoint(run_).found->state.at("mark"), 2);
  EXPECT_EQ(entries(), "step-00000010 ");
  EXPECT_EQ(std::count(fault_plan.trace.begin(), fault_plan.trace.end(), "exchange step-00000010"),
            1);
}

TEST_F(Checkpoint, ReplacesADamagedOneOfItsStep) {
  save(10, 1, 1);
  std::filesystem::remove(run_ / "checkpoints/step-00000010/state.json");
  save(10, 1, 2);
  EXPECT_EQ(newest_checkpoint(run_).found->state.at("mark"), 2);
  EXPECT_EQ(entries(), "step-00000010 ");
}

TEST_F(Checkpoint, KeepsTheOldOneWhereTheFileSystemCannotSwap) {
  save(10, 1, 1);
  auto system = faulty_system();
  system.exchange = [](int, const char*, const char*) {
    errno = EINVAL;
    return -1;
  };
  EXPECT_EQ(
      error_of([&] { save_checkpoint(system, lock_, small_content(10, 2), 1); }),
      "74 " + (run_ / "checkpoints/step-00000010").string() + ": cannot replace: Invalid argument");
  EXPECT_EQ(newest_checkpoint(run_).found->state.at("mark"), 1);
  EXPECT_EQ(entries(), "step-00000010 ");
}

TEST_F(Checkpoint, RemovesLeftoversOfDeadProcesses) {
  const auto checkpoints = run_ / "checkpoints";
  std::filesystem::create_directories(checkpoints / ".tmp-step-00000010-0badb007-1" / "deeper");
  std::filesystem::create_directories(checkpoints / ".trash-step-00000005-0badb007-1");
  put(checkpoints / ".tmp-step-00000010-0badb007-1" / "model.safetensors", "half");
  std::filesystem::create_directory_symlink(run_, checkpoints / ".tmp-link");
  put(checkpoints / "notes.txt", "mine");
  save(20);
  EXPECT_EQ(entries(), "notes.txt step-00000020 ");
  EXPECT_TRUE(std::filesystem::exists(run_ / "lock"));  // the link was removed, not its target
}

TEST_F(Checkpoint, ChecksFreeSpaceFirst) {
  auto system = faulty_system();
  system.free_bytes = [](int) { return std::int64_t{3} << 20; };
  EXPECT_EQ(error_of([&] { save_checkpoint(system, lock_, small_content(10), 1); }),
            "74 " + (run_ / "checkpoints").string() +
                ": a checkpoint needs 16.0 MiB free, but 3.0 MiB are; free some space; older "
                "checkpoints, if there are any, are intact");
  EXPECT_EQ(entries(), "");
}

// Two writers: the folder of a run was moved, and another run has its path.
TEST_F(Checkpoint, OfAMovedFolderIsSavedThereAndLeavesTheOtherRunAlone) {
  save(10);
  const auto moved = run_.string() + "-moved";
  std::filesystem::rename(run_, moved);
  std::filesystem::create_directory(run_);
  const Lock other(run_);
  save_checkpoint(other, small_content(0), 1);
  save(20);
  EXPECT_EQ(checkpoint_steps(run_), Steps{0});
  EXPECT_EQ(checkpoint_steps(moved), (Steps{10, 20}));
  std::filesystem::remove_all(moved);
}

TEST_F(Checkpoint, NeedsTheLockFile) {
  std::filesystem::remove(run_ / "lock");
  EXPECT_EQ(error_of([&] { save(10); }),
            "74 " + (run_ / "lock").string() +
                ": was removed or replaced while this process held it, so another process may use "
                "the folder; nothing more is written; run again");
  EXPECT_FALSE(std::filesystem::exists(run_ / "checkpoints"));
}

TEST_F(Checkpoint, FollowsNoLink) {
  const auto elsewhere = run_ / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, run_ / "checkpoints");
  EXPECT_EQ(error_of([&] { save(10); }),
            "74 " + (run_ / "checkpoints").string() +
                ": is a symbolic link, which is not followed inside a run folder; replace it by "
                "what it points to");
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
}

TEST_F(Checkpoint, IsNotTakenForDamagedIfNoDescriptorIsFree) {
  save(10);
  const int next = ::dup(0);
  ::close(next);
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto two_free = before;  // for checkpoints/ and the folder in it
  two_free.rlim_cur = static_cast<rlim_t>(next) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &two_free), 0);
  const auto said = error_of([&] { newest_checkpoint(lock_.directory()); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(said, "75 " + (run_ / "checkpoints/step-00000010/MANIFEST.json").string() +
                      ": cannot open: Too many open files");
}

TEST_F(Checkpoint, IsNotFoundInAnEmptyRun) {
  EXPECT_FALSE(newest_checkpoint(run_).found);
  EXPECT_TRUE(checkpoint_steps(run_).empty());
}

TEST_F(Checkpoint, CannotBeListedInAFile) {
  put(run_ / "checkpoints", "");
  EXPECT_EQ(error_of([&] { newest_checkpoint(run_); }),
            "74 " + (run_ / "checkpoints").string() + ": cannot open: Not a directory");
}

TEST_F(Checkpoint, HasANameOfItsStepInEightDigitsOrMore) {
  EXPECT_EQ(step_name(7), "step-00000007");
  EXPECT_EQ(step_name(1234567890123), "step-1234567890123");
  for (const auto* name :
       {"step-7", "step-00000007x", "step--0000007", "step-", "step-000000007"}) {
    std::filesystem::create_directories(run_ / "checkpoints" / name);
  }
  EXPECT_TRUE(listed_steps(Directory(run_ / "checkpoints")).empty());
}

}  // namespace
}  // namespace evenkeel::store
