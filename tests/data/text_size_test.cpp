// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_size.h"

#include <gtest/gtest.h>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

class TextSizes : public TemporaryFolder {
 protected:
  static TextSize size_of(const config::Data& data, std::int64_t vocabulary) {
    return text_sizes(data, vocabulary).at(0);
  }
};

// 1,003 tokens: train holds out floor(100.3), and more to begin after an end-of-text token.
TEST_F(TextSizes, OfTokenFilesAreWholeNumbersOfTheTrainingPart) {
  const auto a = file("a.bin", bytes_of(std::vector<std::uint16_t>(1003, 7)));
  const auto split = size_of({.train = {a}}, 300);
  EXPECT_EQ(split.tokens, 903);
  EXPECT_TRUE(split.is_estimate);
  EXPECT_EQ(load_corpora({.train = {a}}, 4, 300).train.front().corpus.tokens.size(), 903);
  const auto whole = size_of({.train = {a}, .validation = {a}}, 300);
  EXPECT_EQ(whole.tokens, 1003);
  EXPECT_FALSE(whole.is_estimate);
}

TEST_F(TextSizes, OfShardsHaveTheDocumentsOfTheTrainingPart) {
  const auto folder = path("shards");
  TokenWriter writer({.folder = folder, .vocabulary = 300, .end_of_text = 0, .tokenizer = "x"});
  const std::vector<std::uint32_t> document = {1, 2, 3, 4};
  for (int i = 0; i < 20; ++i) writer.append(document);
  writer.finish();
  const auto split = size_of({.train = {folder}}, 300);
  EXPECT_EQ(split.tokens, 90);
  EXPECT_EQ(split.documents, 18);
  EXPECT_TRUE(split.is_estimate);
  EXPECT_EQ(size_of({.train = {folder}, .validation = {folder}}, 300).documents, 20);
}

// 0x1f000 in uint32 is 0xf000 and 1 in uint16, which look like no larger type.
TEST_F(TextSizes, AreRefusedForTokenFilesOfAnotherType) {
  const auto a = file("a.npy", bytes_of(std::vector<std::uint32_t>(40, 0x1f000)));
  const config::Data data = {.train = {a}};
  const auto message =
      a +
      ": token ids must be 0 to 50303, but token 0 is 61440; set model.vocabulary, or "
      "data.token_type if the type is not uint16; a file of numpy.save would begin with a header, "
      "and this one does not";
  EXPECT_EQ(refusal([&] { text_sizes(data, 50304); }), message);
  EXPECT_EQ(refusal([&] { load_corpora(data, 4, 50304); }), message);
  EXPECT_EQ(size_of(data, 1 << 17).tokens, 36) << "uint32 by the vocabulary";
}

// `train` reads all ids; here a wrong one does not make the number of tokens wrong.
TEST_F(TextSizes, AreNotRefusedForIdsOfTheTypeInAHeader) {
  const auto ids = bytes_of(std::vector<std::uint16_t>(40, 400));
  const auto a = file("a.bin", llm_c_of(20240520, 1, 40, ids));
  EXPECT_EQ(size_of({.train = {a}}, 300).tokens, 36);
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}}, 4, 300); }),
            a + ": token ids must be 0 to 299, but token 0 is 400; set model.vocabulary, or "
                "data.tokenizer to the tokenizer that made the ids");
}

// 4 times 7 bytes of text, with U+0301, which the tokenizer composes; a begin and an end token.
TEST_F(TextSizes, HaveTheBytesOfTheText) {
  const auto a = file("a.txt", "cafe\u0301 cafe\u0301 cafe\u0301 cafe\u0301 ");
  config::Data data;
  data.train = data.validation = {a};
  data.tokenizer = EK_TESTS "/golden/tokenizers/neox.json";
  const auto size = size_of(data, 0);
  EXPECT_NEAR(size.bytes_per_token.value() * size.tokens, 4 * 7 + 2, 1e-9);
}

TEST_F(TextSizes, HaveTheWarningsOfTheText) {
  const auto a = file("a.txt", "one text"), b = file("b.txt", "another");
  const auto warnings = size_of({.train = {a}, .validation = {a}}, 0).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings.front().starts_with("data.validation: " + a + " is read for training, too"));
  EXPECT_TRUE(size_of({.train = {a}, .validation = {b}}, 0).warnings.empty());
}

}  // namespace
}  // namespace evenkeel::data
