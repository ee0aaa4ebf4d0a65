// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/shard_check.h"

namespace evenkeel::data {
namespace {

class TokenCache : public TemporaryFolder {
 protected:
  TokenCache() { ::setenv("EVENKEEL_CACHE", path("cache").c_str(), 1); }
  ~TokenCache() override { ::unsetenv("EVENKEEL_CACHE"); }

  /// The folder of the tokens of a.txt. \param meanwhile  called while the text is encoded
  std::string cached(const std::function<void()>& meanwhile = {}) const {
    const auto files = find_text_files({path("a.txt")}, {});
    const auto go_on = [&] {
      if (meanwhile) meanwhile();
      return false;
    };
    return cached_tokens(files.files, digests_of(files.files), {}, TextEncoding({}), go_on);
  }

  /// The names in the folder of all caches.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(path("cache"))) {
      names.insert(each.path().filename().string());
    }
    return names;
  }
};

TEST_F(TokenCache, IsUsedAgainForEqualContent) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  const auto written = std::filesystem::last_write_time(folder + "/manifest.json");
  EXPECT_EQ(cached(), folder);
  EXPECT_EQ(std::filesystem::last_write_time(folder + "/manifest.json"), written);
  file("a.txt", "one\ntwo!\n");
  EXPECT_NE(cached(), folder);
}

TEST_F(TokenCache, IsWrittenAgainWhenItIsDamaged) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  const auto tokens = read_file(folder + "/tokens-00000.npy");
  const auto manifest = read_file(folder + "/manifest.json");
  auto flipped = tokens;
  flipped[2] = 'x';
  write_file(folder + "/tokens-00000.npy", flipped);
  EXPECT_EQ(cached(), folder);
  EXPECT_EQ(read_file(folder + "/tokens-00000.npy"), tokens);
  std::filesystem::remove(folder + "/tokens-00000.npy");
  cached();
  EXPECT_EQ(read_file(folder + "/tokens-00000.npy"), tokens);
  write_file(folder + "/manifest.json", manifest.substr(0, 20));
  cached();
  EXPECT_EQ(read_file(folder + "/manifest.json"), manifest);
  std::filesystem::remove(folder + "/manifest.json");
  cached();
  EXPECT_EQ(check_shards(folder).tokens(), 9);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("cache")), {}), 1);
}

// Names of folders that another machine, or another container, is writing.
TEST_F(TokenCache, LeavesTheFoldersThatOtherMachinesAreWriting) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  const auto key = std::filesystem::path(folder).filename().string();
  std::filesystem::remove_all(folder);
  const std::set<std::string> parts = {key + ".part-4194305",
                                       key + ".part-elsewhere-4026531836-4194305-1f"};
  for (const auto& each : parts) file("cache/" + each + "/tokens-00000.npy.part", "");
  cached();
  auto wanted = parts;
  wanted.insert(key);
  EXPECT_EQ(names(), wanted);
}

TEST_F(TokenCache, UsesTheFolderOfAProcessThatWasFaster) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  const auto aside = path("other");
  std::filesystem::rename(folder, aside);
  write_file(aside + "/mark", "");
  const auto appear = [&] {
    if (std::filesystem::exists(aside)) std::filesystem::rename(aside, folder);
  };
  EXPECT_EQ(cached(appear), folder);
  EXPECT_TRUE(std::filesystem::exists(folder + "/mark"));
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(TokenCache, ReplacesADamagedFolderThatAppearsMeanwhile) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  std::filesystem::remove_all(folder);
  const auto damage = [&] {
    std::filesystem::create_directory(folder);
    write_file(folder + "/manifest.json", "damaged");
  };
  EXPECT_EQ(cached(damage), folder);
  EXPECT_EQ(check_shards(folder).tokens(), 9);
  EXPECT_EQ(names().size(), 1U);
}

// Ranks of one machine, or two runs.
TEST_F(TokenCache, EncodesATextOnceForTwoProcesses) {
  file("a.txt", "one\ntwo\n");
  std::string second;
  std::thread other;
  const auto part_folders = [this] {
    const auto all = names();
    return std::ranges::count_if(
        all, [](const std::string& each) { return each.find(".part-") != std::string::npos; });
  };
  const auto begin_other = [&] {
    if (other.joinable()) return;
    other = std::thread([&] { second = cached([&] { EXPECT_LE(part_folders(), 1); }); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  const auto first = cached(begin_other);
  other.join();
  EXPECT_EQ(second, first);
  EXPECT_EQ(names().size(), 1U) << "the lock is removed";
}

TEST_F(TokenCache, StopsWhileItWaitsForAnotherProcess) {
  file("a.txt", "one\ntwo\n");
  const auto files = find_text_files({path("a.txt")}, {});
  const auto stopped = [&] {
    cached_tokens(files.files, digests_of(files.files), {}, TextEncoding({}), [] { return true; });
  };
  std::string message;
  const auto begin_other = [&] {
    std::thread([&] {
      try {
        stopped();
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::stopped);
        message = error.what();
      }
    }).join();
  };
  cached(begin_other);
  EXPECT_EQ(message, "stopped by a signal while another process encoded the text; run again");
}

TEST_F(TokenCache, TakesTheLockThatAKilledProcessLeft) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  std::filesystem::remove_all(folder);
  file("cache/" + std::filesystem::path(folder).filename().string() + ".lock", "");
  EXPECT_EQ(cached(), folder);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(TokenCache, LeavesADamagedFolderUntilTheNewOneIsComplete) {
  file("a.txt", "one\ntwo\n");
  const auto folder = cached();
  std::filesystem::remove(folder + "/tokens-00000.npy");
  bool was_there = false;
  cached([&] { was_there = std::filesystem::exists(folder + "/manifest.json"); });
  EXPECT_TRUE(was_there);
  EXPECT_EQ(check_shards(folder).tokens(), 9);
}

}  // namespace
}  // namespace evenkeel::data
