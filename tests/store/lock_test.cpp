// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/lock.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

#include "store/support.h"

namespace evenkeel::store {
namespace {

TEST(Lock, HasOneOwnerAndNamesItsProcess) {
  const auto run = fresh_folder();
  EXPECT_FALSE(is_locked(run));
  std::optional<Lock> lock(run);
  EXPECT_TRUE(is_locked(run));
  EXPECT_EQ(
      error_of([&] { const Lock second(run); }),
      text("75 ", run.string(), ": locked by process ", ::getpid(), "; wait for it, or stop it"));
  lock.reset();
  EXPECT_FALSE(is_locked(run));
  EXPECT_EQ(error_of([&] { const Lock again(run); }), "no error");
}

TEST(Lock, NamesNoProcessIfTheOwnerWroteNone) {
  const auto run = fresh_folder();
  const Lock lock(run);
  put(run / "lock", "");
  EXPECT_EQ(error_of([&] { const Lock second(run); }),
            "75 " + run.string() + ": locked by another process; wait for it, or stop it");
}

TEST(Lock, SurvivesThatItsFileIsReadByOthers) {  // POSIX locks would be lost at the first close
  const auto run = fresh_folder();
  const Lock lock(run);
  EXPECT_EQ(read_file(run / "lock"), text(::getpid(), "\n"));
  EXPECT_TRUE(is_locked(run));
}

TEST(Lock, NeedsAFolder) {
  const auto run = fresh_folder() / "none";
  EXPECT_EQ(error_of([&] { const Lock lock(run); }),
            "74 " + run.string() + ": cannot open: No such file or directory");
  EXPECT_FALSE(is_locked(run));
}

TEST(Lock, IsFreeOnceItsOwnerIsKilled) {
  const auto run = fresh_folder();
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const auto child = ::fork();
  if (child == 0) {
    const Lock lock(run);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(error_of([&] { const Lock second(run); }),
            text("75 ", run.string(), ": locked by process ", child, "; wait for it, or stop it"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_locked(run));
  EXPECT_EQ(error_of([&] { const Lock lock(run); }), "no error");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Lock, NoticesThatItsFolderWasMovedAndNamesTheNewPath) {
  const auto run = fresh_folder() / "x";
  const auto moved = run.parent_path() / "old";
  std::filesystem::create_directory(run);
  const Lock lock(run);
  EXPECT_EQ(error_of([&] { lock.check_path(); }), "no error");
  std::filesystem::rename(run, moved);
  const auto wanted =
      text("74 ", run.string(), ": the folder was moved while a process worked in it and is now ",
           moved.string(), "; go on with --run ", moved.string());
  EXPECT_EQ(error_of([&] { lock.check_path(); }), wanted);
  std::filesystem::create_directory(run);  // another run takes the path
  const Lock other(run);
  EXPECT_EQ(error_of([&] { lock.check_path(); }), wanted);
  EXPECT_EQ(error_of([&] { other.check_path(); }), "no error");
  EXPECT_TRUE(lock.is_held());
}

TEST(Lock, NoticesThatItsFolderWasRemoved) {
  const auto run = fresh_folder();
  const Lock lock(run);
  std::filesystem::remove_all(run);
  const auto wanted = text("74 ", run.string(),
                           ": the folder was removed while a process worked in it; start again");
  EXPECT_EQ(error_of([&] { lock.check_path(); }), wanted);
  std::filesystem::create_directory(run);
  EXPECT_EQ(error_of([&] { lock.check_path(); }), wanted);
  EXPECT_FALSE(lock.is_held());
}

TEST(Lock, NoticesThatItsFileWasReplaced) {
  const auto run = fresh_folder();
  const Lock lock(run);
  std::filesystem::remove(run / "lock");
  const Lock second(run);
  EXPECT_EQ(error_of([&] { lock.check_path(); }).substr(0, 3), "74 ");
  lock.remove_file();  // that of the second owner stays
  EXPECT_TRUE(second.is_held());
  EXPECT_FALSE(lock.is_held());
}

std::optional<Lock> first_owner;  // a table of system calls holds plain functions

// A process opens RUN/lock; then its owner removes the file and ends. The process must lock a new
// file: a third process would lock another one of this name.
TEST(Lock, IsNeverThatOfARemovedFile) {
  const auto run = fresh_folder();
  first_owner.emplace(run);
  SystemCalls system;
  system.openat = [](int folder, const char* name, int flags, mode_t mode) {
    const int file = ::openat(folder, name, flags, mode);
    if (std::string(name) == "lock" && first_owner) {
      first_owner->remove_file();
      first_owner.reset();
    }
    return file;
  };
  const Lock second(run, system);
  EXPECT_TRUE(second.is_held());
  EXPECT_EQ(error_of([&] { const Lock third(run); }).substr(0, 3), "75 ");
}

TEST(Lock, IsARegularFile) {
  const auto run = fresh_folder();
  ASSERT_EQ(::mkfifo((run / "lock").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { const Lock lock(run); }),
            "74 " + (run / "lock").string() + ": must be a regular file, but is not; remove it");
  std::filesystem::remove(run / "lock");
  put(run / "mine", "precious");
  std::filesystem::create_symlink("mine", run / "lock");
  EXPECT_EQ(error_of([&] { const Lock lock(run); }).substr(0, 3), "74 ");
  EXPECT_EQ(read_file(run / "mine"), "precious");
}

TEST(Lock, IsNotFreeBecauseNoDescriptorIs) {
  const auto run = fresh_folder();
  const Lock lock(run);
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto none_free = before;
  none_free.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_free), 0);
  const auto asked = error_of([&] { is_locked(run); });
  const auto checked = error_of([&] { lock.check_path(); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(asked, "75 " + (run / "lock").string() + ": cannot open: Too many open files");
  EXPECT_EQ(checked, "no error");
}

}  // namespace
}  // namespace evenkeel::store
