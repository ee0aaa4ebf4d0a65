// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

TEST(ByteTokenizer, HasAnIdForEachByteAndEndOfText) {
  const auto tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.kind(), "bytes");
  EXPECT_EQ(tokenizer.digest(), "bytes");
  EXPECT_EQ(tokenizer.path(), "");
  EXPECT_EQ(tokenizer.vocabulary(), 257);
  EXPECT_EQ(tokenizer.end_of_text(), 256U);
  EXPECT_FALSE(tokenizer.begins_with_special());
  EXPECT_EQ(tokenizer.find_token("a"), 97U);
  EXPECT_EQ(tokenizer.find_token("<|endoftext|>"), 256U);
  EXPECT_EQ(tokenizer.find_token("ab"), std::nullopt);
  ASSERT_EQ(tokenizer.special_tokens().size(), 1U);
  EXPECT_EQ(tokenizer.special_tokens()[0].text, "<|endoftext|>");
}

TEST(ByteTokenizer, TakesSpecialStringsAndInvalidUtf8AsBytes) {
  const auto tokenizer = Tokenizer::bytes();
  EXPECT_EQ(encoded(tokenizer, "<|e"), (std::vector<Id>{60, 124, 101}));
  EXPECT_EQ(encoded(tokenizer, "<|endoftext|>").size(), 13U);
  EXPECT_EQ(encoded(tokenizer, "\xff\x80"), (std::vector<Id>{255, 128}));
}

TEST(ByteTokenizer, DecodesBytesAndNothingForIdsWithoutAToken) {
  const auto tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.decode(std::vector<std::int64_t>{97, 256, -1, 257, 255}),
            "a<|endoftext|>\xff");
  EXPECT_EQ(tokenizer.token_bytes(0), std::string(1, '\0'));
  EXPECT_EQ(tokenizer.token_bytes(257), "");
}

}  // namespace
}  // namespace evenkeel::tokenizer
