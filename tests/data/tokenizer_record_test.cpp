// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokenizer_record.h"

#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::data {
namespace {

tokenizer::Tokenizer golden_file(const std::string& name) {
  return tokenizer::Tokenizer::load(text(EK_TESTS, "/golden/tokenizers/", name));
}

/// "78 message" of the refusal of a tokenizer by a manifest; "" without one.
std::string refused_by(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer) {
  try {
    check_tokenizer_of_run(manifest, tokenizer, "restore it");
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "";
}

nlohmann::json manifest_of_run(const tokenizer::Tokenizer& tokenizer) {
  return {{"data", nlohmann::json(tokenizer_record(tokenizer))}};
}

class TokenizerRecord : public TemporaryFolder {};

TEST_F(TokenizerRecord, HasTheDigestsOfATokenizer) {
  const auto gpt2 = golden_file("gpt2.json");
  EXPECT_EQ(tokenizer_record(gpt2).dump(),
            text(R"({"tokenizer":"byte-level BPE","tokenizer_digest":")", gpt2.digest(),
                 R"(","tokenizer_encoding_digest":")", gpt2.encoding_digest(), R"("})"));
  const auto pieces = golden_file("sentencepiece.model");
  EXPECT_EQ(
      tokenizer_record(pieces).dump(),
      text(R"({"tokenizer":"SentencePiece BPE","tokenizer_digest":")", pieces.digest(), R"("})"));
  EXPECT_EQ(tokenizer_record(tokenizer::Tokenizer::bytes()).dump(), "{}");
}

TEST_F(TokenizerRecord, IsEqualIfOneDigestIs) {
  const nlohmann::json before = {{"tokenizer_digest", "a"}, {"tokenizer_encoding_digest", "e"}};
  const nlohmann::json old = {{"tokenizer_digest", "a"}}, bytes = nlohmann::json::object();
  EXPECT_TRUE(is_same_tokenizer(before, before));
  EXPECT_TRUE(is_same_tokenizer(old, before));
  EXPECT_TRUE(
      is_same_tokenizer(before, {{"tokenizer_digest", "b"}, {"tokenizer_encoding_digest", "e"}}));
  EXPECT_FALSE(
      is_same_tokenizer(before, {{"tokenizer_digest", "b"}, {"tokenizer_encoding_digest", "f"}}));
  EXPECT_FALSE(is_same_tokenizer(old, {{"tokenizer_digest", "b"}})) << "neither has the second one";
  EXPECT_TRUE(is_same_tokenizer(bytes, bytes));
  EXPECT_FALSE(is_same_tokenizer(before, bytes));
  EXPECT_FALSE(is_same_tokenizer(bytes, before));
}

TEST_F(TokenizerRecord, RefusesAnotherTokenizerThanThatOfTheTraining) {
  const auto gpt2 = golden_file("gpt2.json"), neox = golden_file("neox.json");
  const auto manifest = manifest_of_run(gpt2);
  const auto message = [&](const std::string& name, const std::string& digest) {
    return text("78 ", name, ": the digest of the tokenizer was \"", gpt2.digest(),
                "\" when the checkpoint was written, but is \"", digest, "\" now; restore it");
  };
  EXPECT_EQ(refused_by(manifest, gpt2), "");
  EXPECT_EQ(refused_by(manifest, neox), message(neox.path(), neox.digest()));
  EXPECT_EQ(refused_by(manifest, tokenizer::Tokenizer::bytes()), message("bytes", "bytes"));
  auto edited = parse_json(read_file(gpt2.path()));
  edited["post_processor"] = {{"type", "ByteLevel"}};
  EXPECT_EQ(refused_by(manifest, tokenizer::Tokenizer::load(file("tokenizer.json", edited.dump()))),
            "");
}

TEST_F(TokenizerRecord, IsNotComparedWithoutADigest) {
  const auto gpt2 = golden_file("gpt2.json");
  for (const auto* const old : {"{}", R"({"data": 3})", R"({"data": {"train": "a text"}})"}) {
    EXPECT_EQ(refused_by(nlohmann::json::parse(old), gpt2), "") << old;
  }
}

}  // namespace
}  // namespace evenkeel::data
