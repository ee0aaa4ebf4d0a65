// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_encoding.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "data/refusal.h"

namespace evenkeel::data {
namespace {

const std::string kGpt2 = EK_TESTS "/golden/tokenizers/gpt2.json";

config::Data data_with(const std::string& end_of_text) {
  return {.tokenizer = kGpt2, .end_of_text = end_of_text};
}

TEST(TextEncoding, OfBytesHasTheirVocabulary) {
  const TextEncoding encoding({});
  EXPECT_TRUE(encoding.is_bytes());
  EXPECT_EQ(encoding.vocabulary(), kByteVocabulary);
  EXPECT_EQ(encoding.end_of_text(), kEndOfText);
  EXPECT_EQ(encoding.prompt("hi"), (std::vector<std::int64_t>{256, 'h', 'i'}));
}

TEST(TextEncoding, TakesEndOfTextFromTheTokenizerOrTheKey) {
  const auto end = TextEncoding(data_with("auto")).required_end_of_text();
  EXPECT_EQ(TextEncoding(data_with("<|endoftext|>")).required_end_of_text(), end);
  EXPECT_EQ(TextEncoding(data_with("7")).required_end_of_text(), 7U);
}

TEST(TextEncoding, RefusesAnEndOfTextThatIsNoToken) {
  EXPECT_EQ(refusal([] { TextEncoding(data_with("<|endoftxt|>")); }),
            "data.end_of_text: the tokenizer has no token \"<|endoftxt|>\"; did you mean "
            "\"<|endoftext|>\"? known: <|endoftext|>");
}

TEST(TextEncoding, StartsAPromptWithEndOfTextUnlessTheTextIsTokenFiles) {
  config::Data data = data_with("auto");
  const auto end = std::int64_t{TextEncoding(data).required_end_of_text()};
  EXPECT_EQ(TextEncoding(data).prompt("The").front(), end);
  data.train = {"part-*.npy"};
  EXPECT_NE(TextEncoding(data).prompt("The").front(), end);
  data.begin = true;
  EXPECT_EQ(TextEncoding(data).prompt("The").front(), end);
}

// Bytes of the tokens of a text sum to the bytes of the text.
TEST(TextEncoding, KnowsTheBytesOfEachToken) {
  const TextEncoding encoding(data_with("auto"));
  const std::string text = "The river sees the moon, \xc3\xa9\n  twice.";
  std::size_t bytes = 0;
  for (const auto id : encoding.encode(text)) bytes += (*encoding.token_lengths())[id];
  EXPECT_EQ(bytes, text.size());
  EXPECT_EQ((*encoding.token_lengths())[encoding.required_end_of_text()], 1U);
}

// 5 bytes of text, and a special token, which counts as one byte.
TEST(TextEncoding, CountsASpecialTokenInATextAsOneByte) {
  const TextEncoding encoding(data_with("auto"));
  const std::string text = "the<|endoftext|>re";
  const TextBytes wanted{.read = 6, .counted = 6};
  EXPECT_EQ(encoding.text_bytes(text, encoding.encode(text)), wanted);
}

// Also if data.end_of_text names a token of several bytes.
TEST(TextEncoding, CountsAnEndOfTextAsOneByte) {
  const TextEncoding special(data_with("auto"));
  EXPECT_EQ(special.end_of_text_bytes(3), (TextBytes{.read = 3, .counted = 3}));
  const auto ship = special.tokenizer().find_token(" ship");
  ASSERT_TRUE(ship);
  const TextEncoding word(data_with(std::to_string(*ship)));
  EXPECT_EQ(word.end_of_text_bytes(3), (TextBytes{.read = 3, .counted = 15}));
}

TEST(TextEncoding, OfBytesNeedsTheirVocabulary) {
  config::Config config;
  config.data.train = {"builtin:sentences"};
  config.model.vocabulary = 65;
  EXPECT_EQ(refusal([&] { vocabulary_of(config); }),
            "exit code 64: model.vocabulary must be at least 257, the tokenizer's, but is 65");
  config.data.train = {"part-*.npy"};
  EXPECT_EQ(vocabulary_of(config), kByteVocabulary);
}

}  // namespace
}  // namespace evenkeel::data
