// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/part_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/base/replace_all.h"

namespace evenkeel::data {
namespace {

namespace fs = std::filesystem;

class PartFolders : public TemporaryFolder {
 protected:
  /// Makes a folder with a file, as a killed process leaves it.
  /// \param age  time since the last change
  fs::path left(const fs::path& folder, std::chrono::hours age = {}) const {
    fs::create_directories(folder);
    write_file(folder / "tokens-00000.npy.part", "");
    const auto changed = fs::file_time_type::clock::now() - age;
    fs::last_write_time(folder / "tokens-00000.npy.part", changed);
    fs::last_write_time(folder, changed);
    return folder;
  }

  fs::path target_ = path("key");
};

/// The number of a process that has ended.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

/// A name of a PartFolder with the number of another process.
std::string with_process(const PartFolder& part, pid_t process) {
  return replace_all(part.path().string(), text("-", ::getpid(), "-"), text("-", process, "-"));
}

TEST_F(PartFolders, HaveTheNameOfTheMachineAndDifferInOneProcess) {
  const PartFolder one(target_), two(target_);
  EXPECT_TRUE(one.path().string().starts_with(target_.string() + ".part-" + host_name() + "-"));
  EXPECT_NE(one.path(), two.path());
}

TEST_F(PartFolders, AreRemovedAtTheEnd) {
  fs::path folder;
  {
    const PartFolder part(target_);
    folder = left(part.path());
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(PartFolders, OfThisMachineAreRemovedOnceTheirProcessHasEnded) {
  const PartFolder part(target_);
  const auto ended = left(with_process(part, ended_process()));
  const auto running = left(with_process(part, ::getppid()));
  const auto of_another_key =
      left(path("key2") + with_process(part, ended_process()).substr(target_.string().size()));
  remove_leftovers(target_);
  EXPECT_FALSE(fs::exists(ended));
  EXPECT_TRUE(fs::exists(running));
  EXPECT_TRUE(fs::exists(of_another_key));
}

TEST_F(PartFolders, OfOtherMachinesAreRemovedAfterADayWithoutAChange) {
  constexpr std::chrono::hours kLessThanADay{23}, kMoreThanADay{25};
  for (const auto* const writer : {"elsewhere-4026531836-1-1f", "4194305"}) {
    const auto folder = target_.string() + ".part-" + writer;
    left(folder, kLessThanADay);
    remove_leftovers(target_);
    EXPECT_TRUE(fs::exists(folder)) << writer;
    left(folder, kMoreThanADay);
    write_file(folder + "/manifest.json", "");
    fs::last_write_time(folder, fs::file_time_type::clock::now() - kMoreThanADay);
    remove_leftovers(target_);
    EXPECT_TRUE(fs::exists(folder)) << writer << ": a file in it is new";
    fs::remove(folder + "/manifest.json");
    left(folder, kMoreThanADay);
    remove_leftovers(target_);
    EXPECT_FALSE(fs::exists(folder)) << writer;
  }
}

}  // namespace
}  // namespace evenkeel::data
