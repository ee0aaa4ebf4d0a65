// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokenizer_record.h"

#include "evenkeel/data/tokenizer_digests.h"

namespace evenkeel::data {

namespace {

constexpr const char* kTokenizerDigest = "tokenizer_digest";
constexpr const char* kEncodingDigest = "tokenizer_encoding_digest";

/// The field of a record; "": none.
std::string recorded_digest(const nlohmann::json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

TokenizerDigests recorded_digests(const nlohmann::json& record) {
  return {.file = recorded_digest(record, kTokenizerDigest),
          .encoding = recorded_digest(record, kEncodingDigest)};
}

/// What the message about another tokenizer ends with.
std::string advice_text(const TokenizerAdvice& advice) {
  const bool is_known = !advice.earlier.empty();
  const auto* const show =
      is_known ? "" : " (`evenkeel tokenize --show FILE` prints the digest of a file)";
  const auto file = is_known ? advice.earlier + ", which has the earlier digest,"
                             : std::string("the tokenizer with the earlier digest");
  if (!advice.copy.empty()) return text("copy ", file, " to ", advice.copy, show, advice.end);
  return text("name ", file, " with --set data.tokenizer=", is_known ? advice.earlier : "FILE",
              show, advice.end);
}

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
  return recorded_digests(before).gives_equal_ids(recorded_digests(now));
}

std::string trained_digest(const nlohmann::json& manifest) {
  const auto before = manifest.value("data", nlohmann::json::object());
  return before.is_object() ? recorded_digest(before, kTokenizerDigest) : "";
}

bool has_digest_of(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer) {
  return trained_digest(manifest) == tokenizer.digest();
}

void check_tokenizer_of_run(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer,
                            const TokenizerAdvice& advice) {
  const auto before = manifest.value("data", nlohmann::json::object());
  if (!before.is_object() || !before.contains(kTokenizerDigest)) return;
  if (is_same_tokenizer(before, tokenizer_record(tokenizer))) return;
  const auto& path = tokenizer.path();
  throw OtherTokenizer(
      text(path.empty() ? tokenizer.kind() : path, ": the digest of the tokenizer was ",
           before.at(kTokenizerDigest).dump(), " when the checkpoint was written, but is \"",
           tokenizer.digest(), "\" now; ", advice_text(advice)));
}

}  // namespace evenkeel::data
