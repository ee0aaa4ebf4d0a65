// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <functional>

#include "data/temporary_folder.h"
#include "evenkeel/base/json_parser.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

class TokenizerFiles : public data::TemporaryFolder {};

TEST_F(TokenizerFiles, DescribeThemselves) {
  const auto path = golden_tokenizer("neox.json");
  const auto tokenizer = Tokenizer::load(path);
  EXPECT_EQ(tokenizer.kind(), "byte-level BPE");
  EXPECT_EQ(tokenizer.path(), path);
  EXPECT_EQ(tokenizer.vocabulary(), 408);
  EXPECT_EQ(tokenizer.digest().size(), 32U);
  EXPECT_EQ(tokenizer.digest(), Tokenizer::load(path).digest());
  EXPECT_NE(tokenizer.digest(), Tokenizer::load(golden_tokenizer("gpt2.json")).digest());
  ASSERT_EQ(tokenizer.special_tokens().size(), 2U);
  EXPECT_EQ(tokenizer.special_tokens()[0].text, "<|endoftext|>");
  EXPECT_EQ(tokenizer.special_tokens()[1].id, 407U);
  EXPECT_EQ(tokenizer.find_token("<pad>"), 407U);
  EXPECT_EQ(tokenizer.find_token("  "), 406U);
  EXPECT_EQ(tokenizer.find_token("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer.end_of_text(), 0U);
}

using Edit = std::function<void(nlohmann::json&)>;

/// The encoding digest of gpt2.json after a change.
std::string digest_after(const std::string& path, const Edit& change) {
  auto content = parse_json(read_file(golden_tokenizer("gpt2.json")));
  change(content);
  write_file(path, content.dump(2));
  return Tokenizer::load(path).encoding_digest();
}

TEST_F(TokenizerFiles, OfEqualEncodingHaveOneDigest) {
  const auto copy = path("tokenizer.json");
  const auto gpt2 = Tokenizer::load(golden_tokenizer("gpt2.json"));
  const auto& wanted = gpt2.encoding_digest();
  EXPECT_EQ(wanted.size(), 32U);
  EXPECT_EQ(digest_after(copy, [](nlohmann::json&) {}), wanted) << "white space";
  EXPECT_NE(Tokenizer::load(copy).digest(), gpt2.digest());
  EXPECT_EQ(digest_after(copy,
                         [](nlohmann::json& file) {
                           file["post_processor"] = {{"type", "ByteLevel"}};
                           file.erase("truncation");
                           file.erase("padding");
                         }),
            wanted);
  const auto ordered = parse_ordered_json(read_file(golden_tokenizer("gpt2.json")));
  auto reordered = nlohmann::ordered_json::object();
  reordered["model"] = ordered.at("model");  // the first key, not the last one
  reordered.update(ordered);
  write_file(copy, reordered.dump());
  EXPECT_EQ(Tokenizer::load(copy).encoding_digest(), wanted) << "order of keys";
}

TEST_F(TokenizerFiles, OfAnotherEncodingHaveAnotherDigest) {
  const auto copy = path("tokenizer.json");
  const auto wanted = Tokenizer::load(golden_tokenizer("gpt2.json")).encoding_digest();
  const auto differs = [&](const Edit& change) { return digest_after(copy, change) != wanted; };
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["model"]["merges"].erase(0); }));
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["model"]["ignore_merges"] = true; }));
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["normalizer"] = {{"type", "NFC"}}; }));
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["pre_tokenizer"]["use_regex"] = false; }));
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["added_tokens"][0]["special"] = false; }));
  EXPECT_TRUE(differs([](nlohmann::json& file) { file["decoder"] = nullptr; }));
  EXPECT_EQ(Tokenizer::bytes().encoding_digest(), "");
  EXPECT_EQ(Tokenizer::load(golden_tokenizer("sentencepiece.model")).encoding_digest(), "");
}

TEST_F(TokenizerFiles, AreFoundInAFolder) {
  file("tokenizer.json", read_file(golden_tokenizer("gpt2.json")));
  EXPECT_EQ(Tokenizer::load(path("")).path(), path("tokenizer.json"));
}

TEST_F(TokenizerFiles, HaveTheEndOfTextOfTheConfiguration) {
  file("tokenizer.json", read_file(golden_tokenizer("llama2.json")));
  EXPECT_EQ(Tokenizer::load(path("tokenizer.json")).end_of_text(), std::nullopt);
  file("tokenizer_config.json", R"({"eos_token": "</s>"})");
  EXPECT_EQ(Tokenizer::load(path("tokenizer.json")).end_of_text(), 2U);
  file("tokenizer_config.json", R"({"eos_token": {"content": "<s>"}})");
  EXPECT_EQ(Tokenizer::load(path("tokenizer.json")).end_of_text(), 1U);
}

TEST_F(TokenizerFiles, KnowTheTokenThatBeginsAText) {
  const auto llama = Tokenizer::load(golden_tokenizer("llama2.json"));
  EXPECT_EQ(llama.kind(), "SentencePiece BPE");
  EXPECT_TRUE(llama.begins_with_special());
  EXPECT_EQ(llama.begin_of_text(), 1U);
  EXPECT_FALSE(Tokenizer::load(golden_tokenizer("gpt2.json")).begins_with_special());
}

TEST_F(TokenizerFiles, DecodeSpecialTokensAsTheirText) {
  const auto tokenizer = Tokenizer::load(golden_tokenizer("gpt4.json"));
  const auto end = static_cast<std::int64_t>(*tokenizer.end_of_text());
  EXPECT_EQ(tokenizer.decode(std::vector<std::int64_t>{end, 1000000, -5, end}),
            "<|endoftext|><|endoftext|>");
  EXPECT_EQ(tokenizer.token_bytes(*tokenizer.find_token(" ship")), " ship");
}

TEST_F(TokenizerFiles, DecodeWithoutThePrefixOfAText) {
  const auto llama = Tokenizer::load(golden_tokenizer("llama2.json"));
  EXPECT_EQ(decoded(llama, encoded(llama, "The ship\n\u6f22!")), "The ship\n\u6f22!");
  EXPECT_EQ(decoded(llama, encoded(llama, " two  spaces")), " two  spaces");
}

// A tokenizer.json without a decoder: U+2581 in a token is a space nevertheless.
TEST_F(TokenizerFiles, DecodeAsTheirNormalizerOrPreTokenizerImplies) {
  const auto copy = path("tokenizer.json");
  for (const auto* name : {"llama2.json", "gemma.json", "metaspace.json"}) {
    auto content = parse_json(read_file(golden_tokenizer(name)));
    content["decoder"] = nullptr;
    write_file(copy, content.dump());
    const auto bare = Tokenizer::load(copy);
    EXPECT_EQ(decoded(bare, encoded(bare, "The ship\n\u6f22!")), "The ship\n\u6f22!") << name;
    const auto ids = encoded(bare, " two  spaces");
    EXPECT_EQ(decoded(bare, ids), decoded(Tokenizer::load(golden_tokenizer(name)), ids)) << name;
  }
}

TEST_F(TokenizerFiles, PutNoPrefixBeforeTheRestOfAText) {
  for (const auto* name : {"llama2.json", "metaspace.json", "prefix.json"}) {
    const auto tokenizer = Tokenizer::load(golden_tokenizer(name));
    const auto whole = encoded(tokenizer, "the ship\nthe ship");
    auto parts = encoded(tokenizer, "the ship\n");
    Encoder(tokenizer).encode("the ship", parts, /*continues=*/true);
    EXPECT_EQ(parts, whole) << name;
    std::vector<Id> alone;
    Encoder(tokenizer).encode("the ship", alone);
    EXPECT_NE(std::vector<Id>(parts.end() - static_cast<std::ptrdiff_t>(alone.size()), parts.end()),
              alone)
        << name << ": has no prefix, so that it tests nothing";
  }
}

TEST_F(TokenizerFiles, EncodeAWordAgainAsTheFirstTime) {
  const auto tokenizer = Tokenizer::load(golden_tokenizer("gpt2.json"));
  const auto copy = tokenizer;
  Encoder encoder(copy);
  std::vector<Id> twice;
  const auto* const text = "the ship \u0939\u093f\u0928\u094d\u0926\u0940zqxjkvbwzq 12";
  encoder.encode(text, twice);
  const auto once = twice;
  encoder.encode(text, twice);
  EXPECT_EQ(twice.size(), 2 * once.size());
  EXPECT_TRUE(std::equal(once.begin(), once.end(),
                         twice.begin() + static_cast<std::ptrdiff_t>(once.size())));
}

}  // namespace
}  // namespace evenkeel::tokenizer
