// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/sentencepiece_normalizer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace evenkeel::tokenizer {
namespace {

std::string applied(const SentencePieceNormalizer& normalizer, std::string_view text) {
  std::string hold;
  return std::string(normalizer.apply(text, hold));
}

/// A trie of one entry, "A" -> `text`, as Darts lays it out: the root's child of label L is at
/// offset ^ L, and the value of a node is at its own offset.
std::string map_of_a(std::string_view text) {
  constexpr std::uint32_t kRootOffset = 256, kLeafOffset = 512, kHasLeaf = 0x100;
  std::vector<std::uint32_t> units(1024);
  units[0] = kRootOffset << 10;
  const auto child = kRootOffset ^ 'A';
  units[child] = (child ^ kLeafOffset) << 10 | kHasLeaf | 'A';
  units[kLeafOffset] = 1;  // in the texts
  std::string out(4 + units.size() * 4, '\0');
  const auto size = static_cast<std::uint32_t>(units.size() * 4);
  std::memcpy(out.data(), &size, 4);
  std::memcpy(out.data() + 4, units.data(), size);
  return out + std::string(1, '\0') + std::string(text) + std::string(1, '\0');
}

TEST(SentencePieceNormalizer, WritesSpacesAsMetaspace) {
  const SentencePieceNormalizer usual;
  EXPECT_EQ(applied(usual, "  a  b "),
            "\xe2\x96\x81"
            "a\xe2\x96\x81"
            "b");
  EXPECT_EQ(applied(usual, "  "), "");
  EXPECT_EQ(applied({.escape_whitespaces = false}, " a  b "), " a b");
}

TEST(SentencePieceNormalizer, KeepsSpacesIfItIsToldTo) {
  const SentencePieceNormalizer every = {.remove_extra_whitespaces = false,
                                         .escape_whitespaces = false};
  EXPECT_EQ(applied(every, " a  "), "  a  ");
  EXPECT_EQ(applied({.add_dummy_prefix = false, .escape_whitespaces = false}, "a b"), "a b");
  EXPECT_EQ(applied({.escape_whitespaces = false, .treat_whitespace_as_suffix = true}, " a b"),
            "a b ");
}

TEST(SentencePieceNormalizer, MapsCharactersButNotThoseOfSymbols) {
  SentencePieceNormalizer normalizer = {.characters = CharacterMap(map_of_a(" xy")),
                                        .add_dummy_prefix = false,
                                        .escape_whitespaces = false};
  EXPECT_EQ(applied(normalizer, "AbA"), "xyb xy");
  EXPECT_EQ(applied(normalizer, "b A"), "b xy");
  normalizer.unchanged.add({"AA", 1, false});
  EXPECT_EQ(applied(normalizer, "bAAA"), "bAA xy");
}

TEST(SentencePieceNormalizer, ReadsNothingOutsideOfADamagedMap) {
  for (const auto* content : {"", "abc",
                              "\xff\xff\xff\xff"
                              "abcdefgh"}) {
    EXPECT_TRUE(CharacterMap(content).empty());
  }
  EXPECT_TRUE(CharacterMap(std::string_view("\1\0\0\0ab", 6)).empty()) << "less than a unit";
  auto damaged = map_of_a("x");
  for (std::size_t at = 4; at < damaged.size(); ++at) {
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    EXPECT_GE(CharacterMap(damaged).at("AA", 0).second, 1U);
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
  }
}

}  // namespace
}  // namespace evenkeel::tokenizer
