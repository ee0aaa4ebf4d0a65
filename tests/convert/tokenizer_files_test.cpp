// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tokenizer_files.h"

#include <gtest/gtest.h>

#include "convert/support.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::convert {
namespace {

TEST(TokenizerFiles, BytesAreABpeThatOurReaderTakes) {
  const TestFolder folder;
  const std::optional<SpelledToken> end = SpelledToken{256, "<|endoftext|>"}, none;
  for (const auto& begin : {none, end}) {
    const auto own = byte_tokenizer_json(begin);
    EXPECT_TRUE(is_byte_tokenizer(own));
    folder.write("tokenizer.json", own);
    config::Data data;
    data.tokenizer = folder.path().string();
    const data::TextEncoding encoding(data);
    EXPECT_EQ(encoding.vocabulary(), 257);
    EXPECT_EQ(encoding.end_of_text(), 256U);
    std::string text;
    for (int byte = 1; byte < 0x80; ++byte) text += static_cast<char>(byte);
    text += "é😀\xED\x9F\xBF";
    const auto ids = encoding.encode(text);
    ASSERT_EQ(ids.size(), text.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(ids[i], static_cast<unsigned char>(text[i]));
    }
  }
  EXPECT_FALSE(is_byte_tokenizer("{}"));
}

TEST(TokenizerFiles, NameTheEndOfText) {
  config::Data data;
  data.begin = false;
  const auto files = tokenizer_files(data::TextEncoding(data), 64);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].second, byte_tokenizer_json());
  EXPECT_EQ(files[1].first, "tokenizer_config.json");
  EXPECT_NE(files[1].second.find("\"add_bos_token\": false"), std::string::npos);
  EXPECT_NE(files[1].second.find("\"model_max_length\": 64"), std::string::npos);
  EXPECT_NE(files[2].second.find("\"eos_token\": \"<|endoftext|>\""), std::string::npos);
}

/// The files by name.
std::map<std::string, nlohmann::json> exported(const data::TextEncoding& encoding) {
  std::map<std::string, nlohmann::json> out;
  for (const auto& [name, content] : tokenizer_files(encoding, 64)) out[name] = parse_json(content);
  return out;
}

config::Data golden(const std::string& name) {
  config::Data data;
  data.tokenizer = text(EK_TESTS, "/golden/tokenizers/", name);
  return data;
}

TEST(TokenizerFiles, SpellEndOfTextAsTheVocabularyDoes) {
  config::Data data;
  data.end_of_text = "10";
  const auto bytes = exported(data::TextEncoding(data));
  EXPECT_EQ(bytes.at("tokenizer_config.json").at("eos_token"), "Ċ");
  const auto& begin = bytes.at("tokenizer.json").at("post_processor");
  EXPECT_EQ(begin.at("special_tokens").at("Ċ").at("ids"), (std::vector<int>{10}));
  data.end_of_text = "200";  // a byte that is no UTF-8
  EXPECT_EQ(exported(data::TextEncoding(data)).at("special_tokens_map.json").at("eos_token"), "È");
  EXPECT_EQ(tokenizer_warnings(data::TextEncoding(data)),
            (std::vector<std::string>{
                "data.end_of_text is token 200, an ordinary token: transformers takes \"È\" in a "
                "text for it; a special token of the tokenizer has no such effect"}));
  auto words = golden("gpt2.json");
  words.end_of_text = "\n";
  EXPECT_EQ(exported(data::TextEncoding(words)).at("tokenizer_config.json").at("pad_token"), "Ċ");
  auto model = golden("sentencepiece.model");
  const tokenizer::Tokenizer pieces = tokenizer::Tokenizer::load(model.tokenizer);
  model.end_of_text = text(*pieces.find_token("\n"));
  for (const auto& [name, content] : tokenizer_files(data::TextEncoding(model), 64)) {
    if (name != "special_tokens_map.json") continue;
    EXPECT_EQ(parse_json(content).at("eos_token"), "<0x0A>");
  }
}

TEST(TokenizerFiles, BeginATextWithEndOfText) {
  auto data = golden("gpt2.json");
  const auto processor =
      exported(data::TextEncoding(data)).at("tokenizer.json").at("post_processor");
  EXPECT_EQ(processor.at("single").front().at("SpecialToken").at("id"), "<|endoftext|>");
  // The copy of the copy is equal: it begins a text already.
  const TestFolder folder;
  const auto first = tokenizer_files(data::TextEncoding(data), 64).front().second;
  folder.write("tokenizer.json", first);
  data.tokenizer = folder.path().string();
  EXPECT_EQ(tokenizer_files(data::TextEncoding(data), 64).front().second, first);
  data = golden("gpt2.json");
  data.begin = false;
  EXPECT_EQ(tokenizer_files(data::TextEncoding(data), 64).front().second,
            read_file(data.tokenizer));
}

TEST(TokenizerFiles, ReplaceAnotherBeginAndKeepTheOtherSteps) {
  const SpelledToken end = {.id = 7, .text = "</s>"};
  const nlohmann::json level = {{"type", "ByteLevel"}, {"trim_offsets", false}};
  const nlohmann::json other = begin_processor({.id = 1, .text = "<s>"}),
                       own = begin_processor(end);
  nlohmann::json file = {
      {"post_processor", {{"type", "Sequence"}, {"processors", {level, other}}}}};
  EXPECT_TRUE(set_begin(file, end));
  EXPECT_EQ(file.at("post_processor").at("processors"), (nlohmann::json{level, own}));
  EXPECT_FALSE(set_begin(file, end));
  file["post_processor"] = other;
  EXPECT_TRUE(set_begin(file, end));
  EXPECT_EQ(file.at("post_processor"), own);
}

TEST(TokenizerFiles, OfTiktokenRanksAreATokenizerJson) {
  const TestFolder folder;
  folder.write("whisper.tiktoken", "YQ== 0\nYg== 1\nYWI= 2\n");
  config::Data data;
  data.tokenizer = (folder.path() / "whisper.tiktoken").string();
  const auto files = exported(data::TextEncoding(data));
  EXPECT_EQ(files.size(), 3U);
  const auto& model = files.at("tokenizer.json").at("model");
  EXPECT_EQ(model.at("vocab"),
            (nlohmann::json{{"a", 0}, {"b", 1}, {"ab", 2}, {"<|endoftext|>", 3}}));
  EXPECT_EQ(model.at("merges"), (std::vector<std::string>{"a b"}));
  EXPECT_EQ(files.at("tokenizer_config.json").at("eos_token"), "<|endoftext|>");
}

/// A SentencePiece model with another normalizer: its spec (message 3) is once more at the end.
std::string with_normalizer(std::string model, const std::string& spec) {
  return model + '\x1a' + static_cast<char>(spec.size()) + spec;
}

TEST(TokenizerFiles, SayWhatLlamaTokenizerDoesNotDo) {
  const TestFolder folder;
  config::Data data;
  data.tokenizer = (folder.path() / "tokenizer.model").string();
  const auto model = read_file(golden("sentencepiece.model").tokenizer);
  folder.write("tokenizer.model", with_normalizer(model, {"\x12\x00\x18\x00\x20\x00", 6}));
  const data::TextEncoding plain(data);
  EXPECT_TRUE(tokenizer_warnings(plain).empty());
  EXPECT_NE(tokenizer_files(plain, 64)[1].second.find("\"add_prefix_space\": false"),
            std::string::npos);
  folder.write("tokenizer.model", with_normalizer(model, {"\x12\x00\x18\x01\x20\x01", 6}));
  const data::TextEncoding removing(data);
  EXPECT_EQ(tokenizer_files(removing, 64)[1].second.find("add_prefix_space"), std::string::npos);
  EXPECT_EQ(tokenizer_warnings(removing).at(0),
            data.tokenizer +
                ": the SentencePiece model removes extra spaces, and LlamaTokenizer of "
                "transformers does not: ids of some texts differ from the run's; tokenize with the "
                "package sentencepiece");
  EXPECT_TRUE(tokenizer_warnings(data::TextEncoding(golden("gpt2.json"))).empty());
}

}  // namespace
}  // namespace evenkeel::convert
