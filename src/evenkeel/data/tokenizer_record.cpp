// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokenizer_record.h"

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr const char* kTokenizerDigest = "tokenizer_digest";
constexpr const char* kEncodingDigest = "tokenizer_encoding_digest";

}  // namespace

nlohmann::ordered_json tokenizer_record(const tokenizer::Tokenizer& tokenizer) {
  auto record = nlohmann::ordered_json::object();
  if (tokenizer.kind() == "bytes") return record;
  record["tokenizer"] = tokenizer.kind();
  record[kTokenizerDigest] = tokenizer.digest();
  const auto& encoding = tokenizer.encoding_digest();
  if (!encoding.empty()) record[kEncodingDigest] = encoding;
  return record;
}

bool is_same_tokenizer(const nlohmann::json& before, const nlohmann::json& now) {
  const nlohmann::json none;
  if (before.value(kTokenizerDigest, none) == now.value(kTokenizerDigest, none)) return true;
  const auto encoding = now.value(kEncodingDigest, none);
  return !encoding.is_null() && before.value(kEncodingDigest, none) == encoding;
}

void check_tokenizer_of_run(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer,
                            const std::string& advice) {
  const auto before = manifest.value("data", nlohmann::json::object());
  if (!before.is_object() || !before.contains(kTokenizerDigest)) return;
  if (is_same_tokenizer(before, tokenizer_record(tokenizer))) return;
  const auto& path = tokenizer.path();
  throw Error(
      Exit::differs,
      text(path.empty() ? tokenizer.kind() : path, ": the digest of the tokenizer was ",
           before.at(kTokenizerDigest).dump(), " when the checkpoint was written, but is \"",
           tokenizer.digest(), "\" now; ", advice));
}

}  // namespace evenkeel::data
