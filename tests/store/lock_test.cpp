// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/lock.h"

#include <gtest/gtest.h>
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
            "74 " + (run / "lock").string() + ": cannot open: No such file or directory");
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

}  // namespace
}  // namespace evenkeel::store
