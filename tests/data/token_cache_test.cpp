// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/token_corpus.h"

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

// e and U+0301 have three bytes; the tokenizer composes them to a character of two.
TEST_F(TokenCache, HasTheBytesOfTheText) {
  const auto input = file("a.txt", "cafe\u0301 ship\n");
  config::Data data;
  data.tokenizer = EK_TESTS "/golden/tokenizers/neox.json";
  const auto files = find_text_files({input}, data);
  const auto folder = [&] {
    return cached_tokens(files.files, digests_of(files.files), data, TextEncoding(data));
  };
  const TextBytes wanted{.read = 12, .counted = 11};
  EXPECT_EQ(cached_text_bytes(folder()), wanted);
  const auto path = folder() + "/text_bytes.json";
  const auto content = read_file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(cached_text_bytes(folder()), wanted);
  for (const auto& damaged : {content.substr(0, content.size() / 2), std::string("[]"),
                              std::string(R"({"read":13,"counted":11,"xxh3":"0"})")}) {
    write_file(path, damaged);
    EXPECT_EQ(cached_text_bytes(folder()), wanted) << damaged;
    EXPECT_EQ(read_file(path), content);
  }
}

// The pre-tokenizer removes white space: two of the documents have no tokens. The tokens of a text
// do not depend on its size.
TEST_F(TokenCache, HasTheTokensOfATextInMemory) {
  const auto input = file("a.jsonl", R"({"text": "one"}
{"text": " \n"}
{"text": "two of them"}
{"text": "\t"}
)");
  config::Data data;
  data.train = data.validation = {input};
  data.tokenizer = EK_TESTS "/golden/tokenizers/removed.json";
  data.begin = false;
  const auto in_memory = load_corpora(data, 2).train.front().corpus;
  const auto files = find_text_files({input}, data);
  const TextEncoding encoding(data);
  const auto folder = cached_tokens(files.files, digests_of(files.files), data, encoding);
  const auto cached = token_corpus({folder}, {}, encoding, encoding.vocabulary(), true);
  EXPECT_TRUE(in_memory.tokens == cached.tokens);
  EXPECT_EQ(in_memory.document_count, 2);
  EXPECT_EQ(cached.document_count, 2);
  auto bytes = cached_text_bytes(folder);
  bytes += encoding.end_of_text_bytes(2);
  EXPECT_EQ(in_memory.text_bytes, bytes);
  EXPECT_EQ(cached.text_bytes, bytes);
  EXPECT_EQ(in_memory.description,
            input + " (1 jsonl), 2 documents without tokens left out, 2 documents, 17 B");
}

TEST_F(TokenCache, NamesTheFieldOfTheBytesThatIsWrong) {
  const auto path = file("text_bytes.json", R"({"read": 13, "counted": 11, "xxh3": "0"})");
  const auto folder = std::filesystem::path(path).parent_path().string();
  const auto refused = [&](const std::string& field) {
    return path + ": must have the bytes of a text, but \"" + field +
           "\" is missing or wrong; remove the folder and run again";
  };
  EXPECT_EQ(refusal([&] { cached_text_bytes(folder); }), refused("xxh3"));
  file("text_bytes.json", R"({"read": 13})");
  EXPECT_EQ(refusal([&] { cached_text_bytes(folder); }), refused("counted"));
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
