// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokenizer_record.h"

#include <algorithm>
#include <string>

#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::data {
namespace {

tokenizer::Tokenizer golden_file(const std::string& name) {
  return tokenizer::Tokenizer::load(text(EK_TESTS, "/golden/tokenizers/", name));
}

/// "78 message" of the refusal of a tokenizer by a manifest; "" without one.
std::string refused_by(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer,
                       const TokenizerAdvice& advice = {
                           .copy = "run/tokenizer.json", .earlier = {}, .end = ", or that"}) {
  try {
    check_tokenizer_of_run(manifest, tokenizer, advice);
  } catch (const OtherTokenizer& error) {
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
                "\" when the checkpoint was written, but is \"", digest,
                "\" now; copy the tokenizer with the earlier digest to run/tokenizer.json "
                "(`evenkeel tokenize --show FILE` prints the digest of a file), or that");
  };
  EXPECT_EQ(refused_by(manifest, gpt2), "");
  EXPECT_EQ(refused_by(manifest, neox), message(neox.path(), neox.digest()));
  EXPECT_EQ(refused_by(manifest, tokenizer::Tokenizer::bytes()), message("bytes", "bytes"));
  auto edited = parse_json(read_file(gpt2.path()));
  edited["post_processor"] = {{"type", "ByteLevel"}};
  EXPECT_EQ(refused_by(manifest, tokenizer::Tokenizer::load(file("tokenizer.json", edited.dump()))),
            "");
}

TEST_F(TokenizerRecord, RefusalNamesTheFileWithTheEarlierDigest) {
  const auto gpt2 = golden_file("gpt2.json"), neox = golden_file("neox.json");
  const auto advised = [&](const TokenizerAdvice& advice) {
    const auto message = refused_by(manifest_of_run(gpt2), neox, advice);
    return message.substr(std::min(message.size(), message.find(" now; ")));
  };
  EXPECT_EQ(advised({.copy = "run/t.json", .earlier = "run/a.json", .end = ", or that"}),
            " now; copy run/a.json, which has the earlier digest, to run/t.json, or that");
  EXPECT_EQ(advised({.copy = {}, .earlier = "run/a.json", .end = {}}),
            " now; name run/a.json, which has the earlier digest, with --set "
            "data.tokenizer=run/a.json");
  EXPECT_EQ(advised({.copy = {}, .earlier = {}, .end = {}}),
            " now; name the tokenizer with the earlier digest with --set data.tokenizer=FILE "
            "(`evenkeel tokenize --show FILE` prints the digest of a file)");
}

TEST_F(TokenizerRecord, KnowsTheFileOfTheTraining) {
  const auto gpt2 = golden_file("gpt2.json");
  const auto manifest = manifest_of_run(gpt2);
  EXPECT_EQ(trained_digest(manifest), gpt2.digest());
  EXPECT_TRUE(has_digest_of(manifest, gpt2));
  EXPECT_FALSE(has_digest_of(manifest, golden_file("neox.json")));
  const auto edited = file("tokenizer.json", read_file(gpt2.path()) + "\n");
  EXPECT_FALSE(has_digest_of(manifest, tokenizer::Tokenizer::load(edited))) << "of equal ids";
  EXPECT_FALSE(has_digest_of(manifest, tokenizer::Tokenizer::bytes()));
  for (const auto* const old : {"{}", R"({"data": 3})", R"({"data": {"train": "a text"}})"}) {
    EXPECT_FALSE(has_digest_of(nlohmann::json::parse(old), gpt2)) << old;
    EXPECT_EQ(trained_digest(nlohmann::json::parse(old)), "") << old;
  }
}

TEST_F(TokenizerRecord, IsNotComparedWithoutADigest) {
  const auto gpt2 = golden_file("gpt2.json");
  for (const auto* const old : {"{}", R"({"data": 3})", R"({"data": {"train": "a text"}})"}) {
    EXPECT_EQ(refused_by(nlohmann::json::parse(old), gpt2), "") << old;
  }
}

}  // namespace
}  // namespace evenkeel::data
