// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/json_parser.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

using nlohmann::json;

/// Changes a golden tokenizer and loads it.
class TokenizerRefusals : public data::TemporaryFolder {
 protected:
  static json golden(const std::string& name) {
    return parse_json(read_file(golden_tokenizer(name)), name);
  }
  /// The message for a changed tokenizer, without the folder.
  template <typename Change>
  std::string refused(const std::string& name, const Change& change) const {
    auto content = golden(name);
    change(content);
    return refused_text(content.dump());
  }
  std::string refused_text(const std::string& content, const std::string& name = "t.json") const {
    const auto path = file(name, content);
    auto message = data::refusal([&] { Tokenizer::load(path); });
    const auto folder = path.substr(0, path.size() - name.size());
    if (message.starts_with(folder)) message.erase(0, folder.size());
    return message;
  }
  /// The message for gpt2.json with another value at a JSON pointer.
  std::string with(const std::string& pointer, const json& value,
                   const std::string& name = "gpt2.json") const {
    return refused(name, [&](json& content) { content[json::json_pointer(pointer)] = value; });
  }
};

TEST_F(TokenizerRefusals, NameOtherKindsOfModels) {
  const auto refusal_of = [](const std::string& type) {
    return "t.json: model.type: must be BPE, byte-level or with byte fallback, but is \"" + type +
           "\", which is not supported; docs/tokenizers.md lists what is";
  };
  EXPECT_EQ(with("/model/type", "WordPiece"), refusal_of("WordPiece"));
  EXPECT_EQ(with("/model/type", "Unigram"), refusal_of("Unigram"));
  const json bert = {{"truncation", 5},
                     {"normalizer", {{"type", "BertNormalizer"}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"model", {{"type", "WordPiece"}, {"vocab", {{"a", 0}}}}}};
  EXPECT_EQ(refused_text(bert.dump()), refusal_of("WordPiece"));
  EXPECT_EQ(with("/model", nullptr), "t.json: model: must be an object, but is null");
}

TEST_F(TokenizerRefusals, NameTheFieldAndItsValue) {
  EXPECT_EQ(with("/truncation", 5),
            "t.json: truncation: must be null (it is not supported), but is 5");
  EXPECT_EQ(with("/padding", true),
            "t.json: padding: must be null (it is not supported), but is true");
  EXPECT_EQ(with("/model/dropout", 0.1), "t.json: model.dropout: must be null, but is 0.1");
  EXPECT_EQ(with("/model/end_of_word_suffix", "</w>"),
            "t.json: model.end_of_word_suffix: must be null, but is \"</w>\"");
  EXPECT_EQ(with("/model/continuing_subword_prefix", "##"),
            "t.json: model.continuing_subword_prefix: must be null, but is \"##\"");
  EXPECT_EQ(with("/normalizer", {{"type", "Lowercase"}}),
            "t.json: normalizer.type: must be NFC, NFKC, Replace, Prepend or Sequence, but is "
            "\"Lowercase\"");
  EXPECT_EQ(
      with("/pre_tokenizer/type", "BertPreTokenizer"),
      "t.json: pre_tokenizer.type: must be ByteLevel, Split, Digits, Metaspace or Sequence, but is "
      "\"BertPreTokenizer\"");
  EXPECT_EQ(with("/pre_tokenizer/add_prefix_space", 1),
            "t.json: pre_tokenizer.add_prefix_space: must be true or false, but is 1");
  EXPECT_EQ(
      with("/post_processor", {{"type", "BertProcessing"}}),
      "t.json: post_processor.type: must be ByteLevel, TemplateProcessing or Sequence, but is "
      "\"BertProcessing\"");
  EXPECT_EQ(with("/pre_tokenizer", nullptr),
            "t.json: pre_tokenizer: must be one with ByteLevel, unless model.byte_fallback is "
            "true, but is "
            "null");
  EXPECT_EQ(with("/added_tokens/0/lstrip", true),
            "t.json: added_tokens[0].lstrip: must be false (true is not supported), but is true");
  EXPECT_EQ(with("/normalizer", 7), "t.json: normalizer: must be an object, but is 7");
  EXPECT_EQ(with("/normalizer", {{"type", 7}}),
            "t.json: normalizer.type: must be a string, but is 7");
}

TEST_F(TokenizerRefusals, NameFieldsOfSplits) {
  const std::string split = "/pre_tokenizer/pretokenizers/0";
  EXPECT_EQ(with(split + "/behavior", "Apart", "gpt4.json"),
            "t.json: pre_tokenizer.pretokenizers[0].behavior: must be Removed, Isolated, "
            "MergedWithPrevious, MergedWithNext or Contiguous, but is \"Apart\"");
  EXPECT_EQ(
      with(split + "/pattern", json::object(), "gpt4.json"),
      "t.json: pre_tokenizer.pretokenizers[0].pattern: must be {\"Regex\": ...} or {\"String\": "
      "...}, but is {}");
  EXPECT_EQ(
      with(split + "/pattern", {{"String", ""}}, "gpt4.json"),
      "t.json: pre_tokenizer.pretokenizers[0].pattern.String: must be a pattern that is not empty, "
      "but is \"\"");
  EXPECT_EQ(with("/pre_tokenizer/pretokenizers/0/type", "ByteLevel", "gpt4.json"),
            "t.json: pre_tokenizer.pretokenizers[1].type: must be no step after ByteLevel, but is "
            "\"ByteLevel\"");
  EXPECT_EQ(with("/pre_tokenizer/replacement", "_", "metaspace.json"),
            "t.json: pre_tokenizer.replacement: must be \"\u2581\" (U+2581), but is \"_\"");
  EXPECT_EQ(
      with("/pre_tokenizer/prepend_scheme", "last", "metaspace.json"),
      "t.json: pre_tokenizer.prepend_scheme: must be always, first or never, but is \"last\"");
}

TEST_F(TokenizerRefusals, NameFieldsOfNormalizersAndDecoders) {
  EXPECT_EQ(
      with("/normalizer/normalizers/1/pattern", {{"Regex", " "}}, "llama2.json"),
      "t.json: normalizer.normalizers[1].pattern: must be {\"String\": ...}, but is {\"Regex\":\" "
      "\"}");
  EXPECT_EQ(
      with("/normalizer/normalizers/1/pattern", {{"String", ""}}, "llama2.json"),
      "t.json: normalizer.normalizers[1].pattern.String: must be a text that is not empty, but is "
      "\"\"");
  EXPECT_EQ(with("/decoder/decoders/0/content", "_", "llama2.json"),
            "t.json: decoder.decoders[0]: must be a replacement of U+2581 by a space, but is "
            "{\"content\":\"_\",\"pattern\":{\"String\":\"\u2581\"},\"type\":\"Replace\"}");
  EXPECT_EQ(
      with("/decoder/decoders/3/start", 2, "llama2.json"),
      "t.json: decoder.decoders[3]: must be of one space at the start, but is {\"content\":\" "
      "\",\"start\":2,\"stop\":0,\"type\":\"Strip\"}");
  EXPECT_EQ(
      with("/decoder/decoders/3/type", "CTC", "llama2.json"),
      "t.json: decoder.decoders[3].type: must be Replace, ByteFallback, Fuse, Strip, Metaspace or "
      "Sequence, but is \"CTC\"");
}

TEST_F(TokenizerRefusals, NameDamagedVocabulariesAndMerges) {
  EXPECT_EQ(with("/model/vocab/a", 66),
            "t.json: model.vocab.b: must be an id that no other token has, but is 66");
  EXPECT_EQ(with("/model/vocab/a", -1),
            "t.json: model.vocab.a: must be a number of at least 0, but is -1");
  EXPECT_EQ(with("/model/vocab/a", 4000000000),
            "t.json: model.vocab.a: must be less than 16777216, but is 4000000000");
  EXPECT_EQ(with("/model/vocab", 3), "t.json: model.vocab: must be an object, but is 3");
  EXPECT_EQ(with("/model/merges", nullptr), "t.json: model.merges: must be an array, but is null");
  EXPECT_EQ(with("/model/merges/0", "a b c"),
            "t.json: model.merges[0]: must be two tokens, but is \"a b c\"");
  EXPECT_EQ(with("/model/merges/0", {"a", 1}),
            "t.json: model.merges[0]: must be two tokens, but is [\"a\",1]");
  EXPECT_EQ(
      with("/model/merges/0", {"z", "zz"}),
      "t.json: model.merges[0]: must be two tokens whose union is a token, but is [\"z\",\"zz\"]");
  EXPECT_EQ(refused("llama2.json", [](json& each) { each["model"]["vocab"].erase("<0x0A>"); }),
            "t.json: model.vocab: must have a token of each byte for byte_fallback, but byte 10 "
            "has none");
}

TEST_F(TokenizerRefusals, NameDamagedAddedTokens) {
  EXPECT_EQ(with("/added_tokens/0/id", 7),
            "t.json: added_tokens[0].id: must be 0, the id of the token in model.vocab, but is 7");
  EXPECT_EQ(with("/added_tokens/0/content", "<other>"),
            "t.json: added_tokens[0].id: must be an id that no other token has, but is 0");
  EXPECT_EQ(with("/added_tokens/0/id", 16777216),
            "t.json: added_tokens[0].id: must be less than 16777216, but is 16777216");
  EXPECT_EQ(refused("gpt2.json",
                    [](json& each) { each["added_tokens"].push_back(each["added_tokens"][0]); }),
            "t.json: added_tokens[1].content: must be a text that no other token has, but is "
            "\"<|endoftext|>\"");
}

TEST_F(TokenizerRefusals, NameFilesThatAreNoJson) {
  EXPECT_EQ(refused_text("{"), "t.json: must be JSON, but is not at column 2");
  EXPECT_EQ(refused_text("[]"), "t.json: must be an object, but is []");
  EXPECT_EQ(refused_text(std::string(70, '[')),
            "t.json: must be nested at most 64 deep, but is deeper");
  std::filesystem::create_directory(path("empty"));
  EXPECT_EQ(data::refusal([&] { Tokenizer::load(path("empty")); }),
            path("empty") +
                ": must hold tokenizer.json or tokenizer.model, but has neither; name the file");
}

TEST_F(TokenizerRefusals, NameABadTextAndItsByte) {
  const auto tokenizer = Tokenizer::load(golden_tokenizer("gpt2.json"));
  EXPECT_EQ(data::refusal([&] { encoded(tokenizer, "twelve bytes\xff"); }),
            "text: must be UTF-8, but is not at byte 12");
  EXPECT_EQ(data::refusal([&] { encoded(tokenizer, "\xe2\x82"); }),
            "text: must be UTF-8, but is not at byte 0");
}

TEST_F(TokenizerRefusals, NameAByteWithoutAToken) {
  auto content = golden("gpt2.json");
  content["model"]["vocab"].erase("z");
  const auto tokenizer = Tokenizer::load(file("t.json", content.dump()));
  EXPECT_FALSE(encoded(tokenizer, "ship").empty());
  EXPECT_EQ(
      data::refusal([&] { encoded(tokenizer, "zero"); }),
      "text: each byte must have a token, but the tokenizer has none for byte 122; use another "
      "tokenizer");
  content["model"]["unk_token"] = "a";
  EXPECT_EQ(refused_text(content.dump()),
            "t.json: model.unk_token: must be null where a byte has no token, but is \"a\"");
}

}  // namespace
}  // namespace evenkeel::tokenizer
