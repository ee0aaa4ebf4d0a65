// SPDX-License-Identifier: Apache-2.0
// Ids that Hugging Face's library gives: tests/ecosystem/golden_tokenizers.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/tokenizer/normalizer.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

using Ids = std::vector<Id>;

nlohmann::json golden_ids() {
  return parse_json(read_file(golden_tokenizer("ids.json")), "ids.json");
}

TEST(GoldenIds, AreThoseOfHuggingFaceForEveryKindOfTokenizer) {
  const auto golden = golden_ids();
  const auto texts = golden["texts"].get<std::vector<std::string>>();
  for (const auto& [name, expected] : golden["tokenizers"].items()) {
    const auto tokenizer = Tokenizer::load(golden_tokenizer(name + ".json"));
    Encoder encoder(tokenizer), plain(tokenizer, false);
    for (std::size_t at = 0; at < texts.size(); ++at) {
      SCOPED_TRACE(name + ": text " + std::to_string(at) + ": " + texts[at]);
      Ids ids, plain_ids;
      encoder.encode(texts[at], ids);
      plain.encode(texts[at], plain_ids);
      EXPECT_EQ(ids, expected["ids"][at].get<Ids>());
      EXPECT_EQ(plain_ids, expected["plain_ids"][at].get<Ids>());
    }
  }
}

TEST(GoldenIds, AreThoseOfSentencePiece) {
  const auto golden = golden_ids();
  const auto texts = golden["texts"].get<std::vector<std::string>>();
  const auto tokenizer = Tokenizer::load(golden_tokenizer("sentencepiece.model"));
  for (std::size_t at = 0; at < texts.size(); ++at) {
    EXPECT_EQ(encoded(tokenizer, texts[at], false), golden["sentencepiece"][at].get<Ids>())
        << texts[at];
  }
}

TEST(GoldenIds, DecodeToTheText) {
  const auto texts = golden_ids()["texts"].get<std::vector<std::string>>();
  for (const std::string name : {"gpt2", "gpt4", "digits", "other", "neox", "ignore_merges"}) {
    const auto tokenizer = Tokenizer::load(golden_tokenizer(name + ".json"));
    for (const auto& text : texts) {
      std::string hold;
      const auto expected = name == "neox" ? nfc(text, hold) : std::string_view(text);
      EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, text)), expected) << name;
    }
  }
}

/// The folder of tokenizers that are not part of this repository; empty without one.
std::string tokenizers_folder() {
  const char* const set = std::getenv("EVENKEEL_TOKENIZERS");
  const std::string folder = set == nullptr ? "" : set;
  if (folder.empty()) {
    std::cout << "EVENKEEL_TOKENIZERS is not set: no tokenizer of others is tested\n";
  }
  return folder;
}

TEST(GoldenIds, AreThoseOfOlmosTokenizers) {
  const auto folder = tokenizers_folder();
  if (folder.empty()) GTEST_SKIP();
  const std::string sentence = "It's  a\ttest\n\n  of   CAN'T 12345";
  const auto dolma2 = Tokenizer::load(text(folder, "/allenai_dolma2.json"));
  EXPECT_EQ(encoded(dolma2, sentence),
            (Ids{2181, 596, 220, 264, 18684, 271, 220, 315, 256, 20076, 17773, 220, 4513, 1774}));
  EXPECT_EQ(dolma2.vocabulary(), 100278);
  EXPECT_EQ(dolma2.end_of_text(), 100257U);
  EXPECT_EQ(dolma2.find_token("<|pad|>"), 100277U);
  EXPECT_NE(encoded(dolma2, " e\u0301"), encoded(dolma2, " \u00e9"));
  const auto neox = Tokenizer::load(text(folder, "/allenai_gpt-neox-olmo-dolma-v1_5.json"));
  EXPECT_EQ(encoded(neox, sentence), (Ids{1147, 434, 50276, 66, 186, 2566, 535, 50276, 1171, 50275,
                                          40555, 8, 53, 1249, 16767}));
  EXPECT_EQ(encoded(neox, " e\u0301"), (Ids{3974}));
  EXPECT_EQ(encoded(neox, " \u00e9"), (Ids{3974}));
  EXPECT_EQ(neox.vocabulary(), 50280);
  EXPECT_EQ(neox.end_of_text(), 50279U);
}

}  // namespace
}  // namespace evenkeel::tokenizer
