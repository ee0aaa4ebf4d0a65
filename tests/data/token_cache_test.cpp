// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <cstdlib>
#include <filesystem>

#include "data/temporary_folder.h"
#include "evenkeel/data/shard_check.h"

namespace evenkeel::data {
namespace {

class TokenCache : public TemporaryFolder {
 protected:
  TokenCache() { ::setenv("EVENKEEL_CACHE", path("cache").c_str(), 1); }
  ~TokenCache() override { ::unsetenv("EVENKEEL_CACHE"); }

  /// The folder of the tokens of a.txt.
  std::string cached() const {
    const auto files = find_text_files({path("a.txt")}, {});
    return cached_tokens(files.files, digests_of(files.files), {}, TextEncoding({}));
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

}  // namespace
}  // namespace evenkeel::data
