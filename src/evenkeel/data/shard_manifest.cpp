// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/shard_manifest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/new_file.h"

namespace evenkeel::data {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<ShardFormat, 4> kShardFormats = {ShardFormat::olmo, ShardFormat::llm_c,
                                                      ShardFormat::megatron, ShardFormat::nanogpt};
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 31;
constexpr const char* kInvalidLines = "invalid_lines";
constexpr const char* kFirstInvalidLines = "first_invalid_lines";
constexpr const char* kTokenizerEncoding = "tokenizer_encoding";
constexpr const char* kShardTextBytes = "text_bytes";

/// A count of what the texts have and the shards do not; absent if it is 0.
struct LeftOutCount {
  const char* name;
  std::int64_t ShardManifest::* count;
};
constexpr std::array<LeftOutCount, 3> kLeftOutCounts = {
    {{"null_texts", &ShardManifest::null_texts},
     {"empty_texts", &ShardManifest::empty_texts},
     {"documents_without_tokens", &ShardManifest::documents_without_tokens}}};

ordered_json written(const ShardFile& file) {
  return {{"file", file.name}, {"bytes", file.digest.bytes}, {"xxh3", file.digest.xxh3}};
}

ordered_json written(const Shard& shard) {
  auto out = written(shard.tokens_file);
  out["documents"] = shard.documents;
  out["tokens"] = shard.tokens;
  if (const auto& bytes = shard.text_bytes) {
    out[kShardTextBytes] = {{"read", bytes->read}, {"counted", bytes->counted}};
  }
  if (shard.sidecar) out["sidecar"] = written(*shard.sidecar);
  return out;
}

/// Thrown by the readers below, caught by read_shard_manifest().
struct WrongField {
  std::string name;
};

std::int64_t number_in(const json& object, const std::string& name, std::int64_t most) {
  const auto found = object.find(name);
  const bool is_in_range = found != object.end() && found->is_number_unsigned() &&
                           found->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!is_in_range) throw WrongField{name};
  return found->get<std::int64_t>();
}

std::string manifest_string(const json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) throw WrongField{name};
  return found->get<std::string>();
}

constexpr std::int64_t kMaxCount = std::int64_t{1} << 62;

ShardFile file_in(const json& object) {
  if (!object.is_object()) throw WrongField{"sidecar"};
  ShardFile file;
  file.name = manifest_string(object, "file");
  const bool is_plain = !file.name.empty() && file.name.front() != '.' &&
                        file.name.find_first_of(std::string("/\0", 2)) == std::string::npos;
  if (!is_plain) throw WrongField{"file"};  // a file of another folder is no shard of this one
  file.digest = {.bytes = number_in(object, "bytes", kMaxCount),
                 .xxh3 = manifest_string(object, "xxh3")};
  return file;
}

TextBytes text_bytes_in(const json& object) {
  const auto number = [&](const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_integer()) throw WrongField{kShardTextBytes};
    return found->get<std::int64_t>();
  };
  if (!object.is_object()) throw WrongField{kShardTextBytes};
  return {.read = number("read"), .counted = number("counted")};
}

Shard shard_in(const json& object) {
  if (!object.is_object()) throw WrongField{"shards"};
  Shard shard;
  shard.tokens_file = file_in(object);
  shard.documents = number_in(object, "documents", kMaxCount);
  shard.tokens = number_in(object, "tokens", kMaxCount);
  if (object.contains(kShardTextBytes)) shard.text_bytes = text_bytes_in(object[kShardTextBytes]);
  if (object.contains("sidecar")) shard.sidecar = file_in(object["sidecar"]);
  return shard;
}

std::vector<InvalidLine> invalid_lines_in(const json& object) {
  const auto found = object.find(kFirstInvalidLines);
  if (found == object.end() || !found->is_array()) throw WrongField{kFirstInvalidLines};
  std::vector<InvalidLine> lines;
  for (const auto& each : *found) {
    if (!each.is_object()) throw WrongField{kFirstInvalidLines};
    lines.push_back({manifest_string(each, "file"), number_in(each, "line", kMaxCount)});
  }
  return lines;
}

void read_left_out(const json& object, ShardManifest& manifest) {
  for (const auto& [name, count] : kLeftOutCounts) {
    if (object.contains(name)) manifest.*count = number_in(object, name, kMaxCount);
  }
  if (!object.contains(kInvalidLines)) return;
  manifest.invalid_lines = number_in(object, kInvalidLines, kMaxCount);
  manifest.first_invalid_lines = invalid_lines_in(object);
}

ShardManifest manifest_in(const json& object) {
  if (!object.is_object()) throw WrongField{"format"};
  ShardManifest manifest;
  const auto format = manifest_string(object, "format");
  const auto* const known = std::find_if(kShardFormats.begin(), kShardFormats.end(),
                                         [&](ShardFormat each) { return format == name_of(each); });
  if (known == kShardFormats.end()) throw WrongField{"format"};
  manifest.format = *known;
  manifest.tokenizer = manifest_string(object, "tokenizer");
  if (object.contains(kTokenizerEncoding)) {
    manifest.tokenizer_encoding = manifest_string(object, kTokenizerEncoding);
  }
  manifest.vocabulary = number_in(object, "vocabulary", kMaxVocabulary);
  const bool is_too_large =
      manifest.format == ShardFormat::nanogpt && manifest.vocabulary > (1 << 16);
  if (manifest.vocabulary < 1 || is_too_large) throw WrongField{"vocabulary"};
  manifest.type = shard_type(manifest.format, manifest.vocabulary);
  if (manifest_string(object, "type") != name_of(manifest.type)) throw WrongField{"type"};
  manifest.end_of_text =
      static_cast<std::uint32_t>(number_in(object, "end_of_text", manifest.vocabulary - 1));
  if (const auto special = object.find("special_in_text"); special != object.end()) {
    if (!special->is_boolean()) throw WrongField{"special_in_text"};
    manifest.special_in_text = special->get<bool>();
  }
  read_left_out(object, manifest);
  const auto shards = object.find("shards");
  if (shards == object.end() || !shards->is_array()) throw WrongField{"shards"};
  for (const auto& each : *shards) manifest.shards.push_back(shard_in(each));
  return manifest;
}

std::int64_t sum_of(const ShardManifest& manifest,
                    const std::function<std::int64_t(const Shard&)>& value) {
  return std::accumulate(manifest.shards.begin(), manifest.shards.end(), std::int64_t{0},
                         [&](std::int64_t sum, const Shard& shard) { return sum + value(shard); });
}

}  // namespace

const char* name_of(ShardFormat format) {
  constexpr std::array<const char*, 4> kNames = {"olmo", "llm_c", "megatron", "nanogpt"};
  return kNames.at(static_cast<std::size_t>(format));
}

ShardFormat shard_format(const std::string& name) {
  std::vector<std::string> names;
  for (const auto format : kShardFormats) {
    if (name == name_of(format)) return format;
    names.emplace_back(name_of(format));
  }
  throw Error(Exit::usage,
              text("no format of shards is named \"", name, "\"", did_you_mean(name, names)));
}

TokenType shard_type(ShardFormat format, std::int64_t vocabulary) {
  constexpr std::int64_t kUint16Ids = std::int64_t{1} << 16, kMegatronUint16Ids = 65500;
  EK_ASSERT(vocabulary <= kMaxVocabulary);
  switch (format) {
    case ShardFormat::olmo:
      return smallest_type(vocabulary);
    case ShardFormat::llm_c:
      return vocabulary <= kUint16Ids ? TokenType::uint16 : TokenType::uint32;
    case ShardFormat::megatron:
      return vocabulary < kMegatronUint16Ids ? TokenType::uint16 : TokenType::int32;
    case ShardFormat::nanogpt:
      break;
  }
  if (vocabulary > kUint16Ids) {
    throw Error(Exit::usage, text("the format nanogpt holds at most 65,536 ids, but the vocabulary "
                                  "has ",
                                  with_commas(vocabulary), "; take olmo, llm_c or megatron"));
  }
  return TokenType::uint16;
}

std::int64_t ShardManifest::documents() const {
  return sum_of(*this, [](const Shard& shard) { return shard.documents; });
}

std::int64_t ShardManifest::tokens() const {
  return sum_of(*this, [](const Shard& shard) { return shard.tokens; });
}

std::int64_t ShardManifest::bytes() const {
  return sum_of(*this, [](const Shard& shard) {
    return shard.tokens_file.digest.bytes + (shard.sidecar ? shard.sidecar->digest.bytes : 0);
  });
}

std::optional<TextBytes> ShardManifest::text_bytes() const {
  std::optional<TextBytes> sum = TextBytes();
  for (const auto& shard : shards) add_known(sum, shard.text_bytes);
  return sum;
}

std::string without_tokens_text(std::int64_t documents) {
  if (documents == 0) return "";
  return text(with_commas(documents), documents == 1 ? " document" : " documents",
              " without tokens left out");
}

std::string left_out_description(const JsonCounts& counts, std::int64_t documents_without_tokens) {
  const auto values = counts.description();
  const auto documents = without_tokens_text(documents_without_tokens);
  return values + (values.empty() || documents.empty() ? "" : ", ") + documents;
}

std::vector<std::pair<const char*, std::int64_t>> left_out_counts(const ShardManifest& manifest) {
  std::vector<std::pair<const char*, std::int64_t>> counts;
  for (const auto& [name, count] : kLeftOutCounts) {
    if (manifest.*count > 0) counts.emplace_back(name, manifest.*count);
  }
  return counts;
}

void write_shard_manifest(const std::string& folder, const ShardManifest& manifest) {
  ordered_json out = {{"format", name_of(manifest.format)},  {"type", name_of(manifest.type)},
                      {"tokenizer", manifest.tokenizer},     {"vocabulary", manifest.vocabulary},
                      {"end_of_text", manifest.end_of_text}, {"documents", manifest.documents()},
                      {"tokens", manifest.tokens()},         {"bytes", manifest.bytes()},
                      {"shards", ordered_json::array()}};
  if (!manifest.tokenizer_encoding.empty()) out[kTokenizerEncoding] = manifest.tokenizer_encoding;
  if (manifest.special_in_text) out["special_in_text"] = *manifest.special_in_text;
  for (const auto& each : manifest.shards) out["shards"].push_back(written(each));
  for (const auto& [name, count] : left_out_counts(manifest)) out[name] = count;
  if (manifest.invalid_lines) {
    out[kInvalidLines] = *manifest.invalid_lines;
    auto& lines = out[kFirstInvalidLines] = ordered_json::array();
    for (const auto& each : manifest.first_invalid_lines) {
      lines.push_back({{"file", each.file}, {"line", each.line}});
    }
  }
  const auto content = json_dump(out, 1) + "\n";  // a path may be no UTF-8
  NewFile file(std::filesystem::path(folder) / kShardManifest);
  file.append(content.data(), content.size());
  file.finish();
}

ShardManifest read_shard_manifest(const std::string& folder) {
  const auto path = (std::filesystem::path(folder) / kShardManifest).string();
  std::string content;
  try {
    content = read_file(path);
  } catch (const Error& error) {
    throw Error(error.exit() == Exit::io ? Exit::data : error.exit(),
                text(error.what(), "; name a folder that `evenkeel tokenize` wrote"));
  }
  try {
    return manifest_in(parse_json(content, path));
  } catch (const WrongField& wrong) {
    throw Error(Exit::data, text(path, ": must be a manifest of shards, but \"", wrong.name,
                                 "\" is missing or wrong; write the shards again"));
  }
}

}  // namespace evenkeel::data
