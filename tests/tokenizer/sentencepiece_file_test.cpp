// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <random>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/tokenizer/model.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

class SentencePieceFile : public data::TemporaryFolder {
 protected:
  static Tokenizer golden() { return Tokenizer::load(golden_tokenizer("sentencepiece.model")); }
};

TEST_F(SentencePieceFile, HasTheTokensOfItsModel) {
  const auto tokenizer = golden();
  EXPECT_EQ(tokenizer.kind(), "SentencePiece BPE");
  EXPECT_EQ(tokenizer.end_of_text(), 2U);
  EXPECT_EQ(tokenizer.begin_of_text(), 1U);
  EXPECT_TRUE(tokenizer.begins_with_special());
  EXPECT_EQ(tokenizer.find_token("<s>"), 1U);
  EXPECT_EQ(tokenizer.token_bytes(3 + 0x0a), "\n");
  EXPECT_EQ(tokenizer.special_tokens().size(), 2U);
}

TEST_F(SentencePieceFile, DecodesWhatItEncodes) {
  const auto tokenizer = golden();
  for (const auto* text : {"The ship's keel.", "\u6f22 x"}) {
    EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, text)), text);
  }
}

TEST_F(SentencePieceFile, GivesTheIdsOfItsLibrary) {
  const auto tokenizer = golden();
  EXPECT_EQ(tokenizer.model().sentencepiece, nullptr);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(golden_tokenizer("sentencepiece.model")).ok());
  const std::vector<std::string> some = {"ship", " ",      "  ",         "keel",   "\n",
                                         "e",    "\u00e9", "\u6f22",     "\u2581", "the",
                                         ".",    "12",     "\U0001f6a2", "\t",     "K"};
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto parts = random() % 60; parts > 0; --parts) text += some[random() % some.size()];
    std::vector<int> wanted;
    ASSERT_TRUE(library.Encode(text, &wanted).ok());
    ASSERT_EQ(encoded(tokenizer, text, false), std::vector<Id>(wanted.begin(), wanted.end()))
        << text;
  }
}

// nmt_nfkc: ligatures, wide forms and marks are composed or replaced, spaces become one.
TEST_F(SentencePieceFile, NormalizesTextAsItsLibraryDoes) {
  const auto tokenizer = golden();
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(golden_tokenizer("sentencepiece.model")).ok());
  for (const std::string text :
       {"\ufb01sh", "\uff33\uff48\uff49\uff50", "\u2460", "e\u0301", "a\u00a0b", "a\u200bb",
        "\u3000keel", "a\r\nb", "  the\t ship ", "\uff76\uff9e"}) {
    std::vector<int> wanted;
    ASSERT_TRUE(library.Encode(text, &wanted).ok());
    EXPECT_EQ(encoded(tokenizer, text, false), std::vector<Id>(wanted.begin(), wanted.end()))
        << text;
  }
  EXPECT_EQ(encoded(tokenizer, "\uff33\uff48\uff49\uff50\nkeel"), encoded(tokenizer, "Ship keel"));
}

TEST_F(SentencePieceFile, SaysWhatItsNormalizerChanges) {
  EXPECT_EQ(golden().text_changes(), "replaces characters (nmt_nfkc) and removes extra spaces");
  EXPECT_EQ(Tokenizer::load(golden_tokenizer("llama2.json")).text_changes(), "");
  EXPECT_EQ(Tokenizer::bytes().text_changes(), "");
  const auto model = read_file(golden_tokenizer("sentencepiece.model"));
  const auto with_spec = [&](std::string_view spec) {  // once more at the end: fields are merged
    const auto content = model + '\x1a' + static_cast<char>(spec.size()) + std::string(spec);
    return Tokenizer::load(file("m.model", content)).text_changes();
  };
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(with_spec("\x12\x00"sv), "removes extra spaces");
  EXPECT_EQ(with_spec("\x20\x00"sv), "replaces characters (nmt_nfkc)");
  EXPECT_EQ(with_spec("\x0a\x01\x1b\x20\x00"sv), "replaces characters (\\u001B)");
  EXPECT_EQ(with_spec("\x0a\x00\x20\x00"sv), "replaces characters");
  EXPECT_EQ(with_spec("\x12\x00\x20\x00"sv), "");
}

TEST_F(SentencePieceFile, EncodesWithItsLibraryWhereOurBpeCannot) {
  const std::string_view unused("\x0a\x0c\x0a\x03zzq\x15\0\0\0\0\x18\x05", 14);
  const auto content = read_file(golden_tokenizer("sentencepiece.model")).append(unused);
  const auto tokenizer = Tokenizer::load(file("m.model", content));
  EXPECT_NE(tokenizer.model().sentencepiece, nullptr);
  EXPECT_EQ(tokenizer.text_changes(), golden().text_changes());
  EXPECT_EQ(encoded(tokenizer, "The ship's keel."), encoded(golden(), "The ship's keel."));
}

TEST_F(SentencePieceFile, CutsControlSymbolsFromTheText) {
  const auto tokenizer = golden();
  auto expected = encoded(tokenizer, "ship");
  const auto word = expected;
  expected.push_back(2);
  expected.insert(expected.end(), word.begin(), word.end());
  EXPECT_EQ(encoded(tokenizer, "ship</s>ship"), expected);
  EXPECT_NE(encoded(tokenizer, "ship</s>ship", false), expected);
}

TEST_F(SentencePieceFile, IsFoundInAFolder) {
  file("tokenizer.model", read_file(golden_tokenizer("sentencepiece.model")));
  EXPECT_EQ(Tokenizer::load(path("")).path(), path("tokenizer.model"));
}

TEST_F(SentencePieceFile, RefusesOtherModels) {
  const auto refused = [&](std::string_view content) {
    const auto name = file("m.model", content);
    return data::refusal([&] { Tokenizer::load(name); }).substr(name.size() - 7);
  };
  EXPECT_EQ(refused("\n\x05\n\x03<s>\x12\x02\x18\x01"),
            "m.model: trainer_spec.model_type must be BPE, but is unigram; use a BPE model");
  EXPECT_EQ(refused("\n\x05\n\x03<s>\x12\x02\x18\x04"),
            "m.model: trainer_spec.model_type must be BPE, but is char; use a BPE model");
  EXPECT_TRUE(refused("\n\x05\n\x03<s>\x12\x02\x18\x02")
                  .starts_with("m.model: must be a SentencePiece model, but: "));
}

TEST(ProtobufField, IsTheLastOfItsNumber) {
  using std::string_view_literals::operator""sv;
  const auto message = "\x08\x96\x01\x12\x02hi\x08\x05\x1d\x01\x02\x03\x04"sv;
  EXPECT_EQ(protobuf_field(message, 1)->number, 5U);
  EXPECT_EQ(protobuf_field(message, 2)->bytes, "hi");
  EXPECT_EQ(protobuf_field(message, 3)->bytes.size(), 4U);
  EXPECT_FALSE(protobuf_field(message, 4));
  EXPECT_FALSE(protobuf_field("\x12\x09hi", 2)) << "cut";
  EXPECT_FALSE(protobuf_field("\x0b", 1)) << "a group";
  EXPECT_FALSE(protobuf_field(std::string(11, '\xff'), 1)) << "a varint without an end";
}

}  // namespace
}  // namespace evenkeel::tokenizer
