// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokens.h"

#include <numeric>

#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"
#include "evenkeel/data/token_file.h"

namespace evenkeel::data {
namespace {

using Ids = std::vector<std::int64_t>;

class TokensOfFiles : public TemporaryFolder {
 protected:
  /// A file of uint16 ids.
  Tokens tokens(const std::string& name, const std::vector<std::uint16_t>& ids) {
    const auto found = std::make_shared<const TokenFile>(file(name, bytes_of(ids)), nullptr, 1000);
    return {found, found->check_ids(1000).ids};
  }
};

TEST_F(TokensOfFiles, AreConcatenatedWithIdsInMemory) {
  Tokens all({1, 2});
  all.append(tokens("a.bin", {3, 4, 5}));
  all.push_back(6);
  all.push_back(7);
  all.append(tokens("b.bin", {8}));
  EXPECT_EQ(all.size(), 8);
  EXPECT_EQ(all.range(0, 8), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(all.part_sizes(), (Ids{2, 3, 2, 1}));
  for (std::int64_t begin = 0; begin <= 8; ++begin) {
    for (std::int64_t end = begin; end <= 8; ++end) {
      Ids wanted(static_cast<std::size_t>(end - begin));
      std::iota(wanted.begin(), wanted.end(), begin + 1);
      EXPECT_EQ(all.range(begin, end - begin), wanted);
      EXPECT_EQ(all.slice(begin, end).range(0, end - begin), wanted);
    }
  }
}

TEST_F(TokensOfFiles, OfASliceOfASliceAreThoseOfTheFile) {
  const auto whole = tokens("a.bin", {10, 11, 12, 13, 14, 15});
  EXPECT_EQ(whole.slice(1, 6).slice(2, 4).range(0, 2), (Ids{13, 14}));
}

TEST_F(TokensOfFiles, HaveADigestThatDependsOnTheBytesAndTheRange) {
  const auto a = tokens("a.bin", {1, 2, 3, 4}), b = tokens("b.bin", {1, 2, 3, 4});
  const auto c = tokens("c.bin", {1, 2, 3, 5});
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
  EXPECT_NE(a.slice(0, 2).digest(), a.slice(1, 3).digest());
  EXPECT_NE(a.slice(0, 2).digest(), a.slice(0, 3).digest());
}

TEST(Tokens, HaveTheDigestOfTheirSmallestType) {
  EXPECT_EQ(Tokens({'a', 'b', 256}).digest(), Tokens({'a', 'b', 256}).digest());
  EXPECT_NE(Tokens({1, 65536}).digest(), Tokens({1, 0}).digest());
}

}  // namespace
}  // namespace evenkeel::data
