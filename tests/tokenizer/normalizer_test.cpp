// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/normalizer.h"

#include <gtest/gtest.h>

namespace evenkeel::tokenizer {
namespace {

std::string nfc_of(std::string_view text) {
  std::string hold;
  return std::string(nfc(text, hold));
}

TEST(Normalizer, ComposesCharacters) {
  EXPECT_EQ(nfc_of("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(nfc_of("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(nfc_of("\u212b \u0958"), "\u00c5 \u0915\u093c");
  EXPECT_EQ(nfc_of("a\u0301\u0323"), "\u1ea1\u0301");
  EXPECT_EQ(nfc_of("\u6f22\u5b57"), "\u6f22\u5b57");
  EXPECT_EQ(nfc_of(""), "");
}

TEST(Normalizer, DoesNotReorderMarksThatAreNewerThanUnicode9) {
  // U+1DF6 (class 232) came with Unicode 10; U+0323 has class 220, so NFC of today reorders them.
  EXPECT_EQ(nfc_of("a\u1df6\u0323"), "a\u1df6\u0323");
  EXPECT_EQ(nfc_of("a\u1df5\u0323"), "\u1ea1\u1df5");  // U+1DF5 came with Unicode 9
}

TEST(Normalizer, AppliesItsStepsInTheirOrder) {
  using Step = Normalizer::Step;
  Normalizer normalizer;
  normalizer.add({Step::Kind::nfkc, {}, {}});
  normalizer.add({Step::Kind::prepend, {}, "_"});
  normalizer.add({Step::Kind::replace, " ", "_"});
  std::string hold;
  EXPECT_EQ(normalizer.apply("\ufb01 x ", hold), "_fi_x_");
  EXPECT_EQ(normalizer.apply("", hold), "");
}

}  // namespace
}  // namespace evenkeel::tokenizer
