// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tiktoken_json.h"

#include <gtest/gtest.h>

#include <random>

#include "data/temporary_folder.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
    }
  }
  return out;
}

/// All bytes, then pairs and triples of some; "xyz" is no union of two tokens.
std::string ranks() {
  std::string out;
  int rank = 0;
  const auto add = [&](std::string_view token) { out += text(base64(token), ' ', rank++, '\n'); };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const auto* token : {"aa", "ab", "ba", "aab", "aba", "abab", "  ", "\n\n", " a", "\xc3\xa9",
                            "12", "'s", "xyz", "\r\n", "baa", "   "}) {
    add(token);
  }
  return out;
}

class TiktokenJson : public data::TemporaryFolder {};

TEST_F(TiktokenJson, HasTheIdsOfTheRanks) {
  const std::string parts[] = {"a", "b", "a", "b", " ", "\n", "\r\n", "é", "1", "'S", "xyz", "."};
  for (const auto* name : {"gpt2", "cl100k_base", "o200k_base", "llama3", "qwen2", "whisper"}) {
    const auto ours = Tokenizer::load(file("r.tiktoken", ranks()), {name});
    const auto theirs = Tokenizer::load(file(text(name, ".json"), tiktoken_json(ours)));
    EXPECT_EQ(theirs.kind(), "byte-level BPE");
    EXPECT_EQ(theirs.vocabulary(), ours.vocabulary()) << name;
    EXPECT_EQ(theirs.end_of_text(), ours.end_of_text()) << name;
    Encoder encoder(ours), encoder_of_json(theirs);
    std::mt19937 random(7);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      std::string sample;
      for (int i = 0; i < 24; ++i) sample += parts[random() % std::size(parts)];
      if (repeat % 5 == 0) sample += "<|endoftext|> a";
      std::vector<Id> ids, found;
      encoder.encode(sample, ids);
      encoder_of_json.encode(sample, found);
      ASSERT_EQ(found, ids) << name << '\n' << sample;
      ASSERT_EQ(decoded(theirs, found), sample);
    }
  }
}

}  // namespace
}  // namespace evenkeel::tokenizer
