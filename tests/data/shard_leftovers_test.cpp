// SPDX-License-Identifier: Apache-2.0
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

class ShardLeftovers : public TemporaryFolder {
 protected:
  std::string begin_writing() const {
    return refusal([&] {
      const TokenWriter writer({.folder = path("a"), .vocabulary = 300, .tokenizer = "t"});
    });
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
};

TEST_F(ShardLeftovers, OfAKilledWriterAreRemovedByTheNext) {
  file("a/tokens-00000.npy.part", "x");
  file("a/tokens-00003.csv.gz.part", "x");
  file("a/other-00000.npy.part", "x");
  file("a/tokens-notes.part", "x");
  EXPECT_EQ(begin_writing(), "no refusal");
  EXPECT_FALSE(exists("a/tokens-00000.npy.part"));
  EXPECT_FALSE(exists("a/tokens-00003.csv.gz.part"));
  EXPECT_TRUE(exists("a/other-00000.npy.part")) << "of another --name";
  EXPECT_TRUE(exists("a/tokens-notes.part")) << "no shard";
}

TEST_F(ShardLeftovers, StayInAFolderWithShards) {
  file("a/tokens-00000.npy", "x");
  file("a/tokens-00001.npy.part", "x");
  EXPECT_NE(begin_writing(), "no refusal");
  EXPECT_TRUE(exists("a/tokens-00001.npy.part"));
}

}  // namespace
}  // namespace evenkeel::data
