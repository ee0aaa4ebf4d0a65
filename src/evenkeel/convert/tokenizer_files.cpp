// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/tokenizer/bpe_json.h"
#include "evenkeel/tokenizer/byte_characters.h"
#include "evenkeel/tokenizer/model.h"
#include "evenkeel/tokenizer/tiktoken_json.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{256} << 20;

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

/// The vocabulary of a tokenizer: a tokenizer.json, or a SentencePiece model.
struct VocabularyFile {
  std::string content;
  nlohmann::json json;  // null for a SentencePiece model
};

VocabularyFile vocabulary_file(const data::TextEncoding& encoding) {
  const auto& tokenizer = encoding.tokenizer();
  VocabularyFile out;
  if (encoding.is_bytes()) {
    out.content = byte_tokenizer_json();
  } else if (tokenizer.kind() == tokenizer::kTiktoken) {
    out.content = tokenizer::tiktoken_json(tokenizer);
  } else {
    out.content = read_file(tokenizer.path(), kMaxTokenizerBytes);
  }
  const auto first = out.content.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && out.content[first] == '{') {
    out.json = parse_json(out.content, tokenizer.path());
  }
  return out;
}

/// The piece of an id in a SentencePiece model.
SpelledToken spelled_piece(std::string_view model, std::int64_t id) {
  constexpr std::uint64_t kPieces = 1, kText = 1;  // of sentencepiece_model.proto
  std::int64_t at = 0;
  while (const auto field = take_field(model)) {
    if (field->field != kPieces || at++ != id) continue;
    const auto text = protobuf_field(field->bytes, kText);
    return {id, text ? std::string(text->bytes) : ""};
  }
  return {id, ""};
}

/// The end-of-text token; nullopt if there is none.
std::optional<SpelledToken> spelled_end_of_text(const data::TextEncoding& encoding,
                                                const VocabularyFile& file) {
  const auto id = encoding.end_of_text();
  if (!id) return std::nullopt;
  auto token =
      file.json.is_null() ? spelled_piece(file.content, *id) : spelled_token(file.json, *id);
  return token.text.empty() ? std::nullopt : std::optional(std::move(token));
}

/// The tokenizer.json, or the SentencePiece model, as it is if no text begins with a token, or each
/// does already.
std::string beginning_with(VocabularyFile file, const data::TextEncoding& encoding,
                           const std::optional<SpelledToken>& begin) {
  if (encoding.is_bytes()) return byte_tokenizer_json(begin);
  const bool is_changed = begin && !file.json.is_null() && set_begin(file.json, *begin);
  return is_changed ? file.json.dump(2) + "\n" : std::move(file.content);
}

/// What a SentencePiece model does and LlamaTokenizer does not; "" for nothing.
std::string not_in_transformers(const tokenizer::Model& model) {
  if (model.sentencepiece) return "has pieces that only libsentencepiece encodes";
  if (!model.sentencepiece_normalizer) return "";
  const auto& normalizer = *model.sentencepiece_normalizer;
  auto out = normalizer.changes();
  if (!normalizer.escape_whitespaces || normalizer.treat_whitespace_as_suffix) {
    out += text(out.empty() ? "" : " and ", "marks spaces in another way");
  }
  return out;
}

}  // namespace

std::string byte_tokenizer_json(const std::optional<SpelledToken>& begin) {
  constexpr int kBytes = 256;
  Json vocabulary = Json::object();
  for (int byte = 0; byte < kBytes; ++byte) {
    const auto value = static_cast<char>(byte);
    vocabulary[tokenizer::characters_of_bytes({&value, 1})] = byte;
  }
  const auto end = tokenizer::special_token_json<Json>(kBytes, "<|endoftext|>");
  const Json out = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", Json::array({end})},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level(false, false)},
                    {"post_processor", begin ? begin_processor(*begin) : Json()},
                    {"decoder", byte_level(true, true)},
                    {"model", tokenizer::bpe_model_json(vocabulary, Json::array(), false)}};
  return out.dump(2) + "\n";
}

bool is_byte_tokenizer(const std::string& json) {
  const auto own = byte_tokenizer_json();
  if (json.size() > 2 * own.size()) return false;
  auto found = parse_json(json);
  if (!found.is_object()) return false;
  found["post_processor"] = nullptr;
  return found == parse_json(own);
}

NamedTexts tokenizer_files(const data::TextEncoding& encoding, std::int64_t context) {
  auto file = vocabulary_file(encoding);
  const bool is_json = !file.json.is_null();
  const auto end = spelled_end_of_text(encoding, file);
  const bool begins = encoding.prompt_begins_with_end_of_text() && end;
  NamedTexts files;
  files.emplace_back(is_json ? "tokenizer.json" : "tokenizer.model",
                     beginning_with(std::move(file), encoding, begins ? end : std::nullopt));
  Json config = {{"tokenizer_class", is_json ? "PreTrainedTokenizerFast" : "LlamaTokenizer"}};
  Json special = Json::object();
  for (const auto* const key : {"bos_token", "eos_token", "pad_token"}) {
    if (end) config[key] = special[key] = end->text;
  }
  config["add_bos_token"] = begins;
  // LlamaTokenizer puts a space before each text, whatever the model says.
  if (!is_json && !encoding.tokenizer().model().strips_first_space) {
    config["add_prefix_space"] = false;
  }
  config["clean_up_tokenization_spaces"] = false;
  config["model_max_length"] = context;
  files.emplace_back("tokenizer_config.json", config.dump(2) + "\n");
  files.emplace_back("special_tokens_map.json", special.dump(2) + "\n");
  return files;
}

std::vector<std::string> tokenizer_warnings(const data::TextEncoding& encoding) {
  const auto& model = encoding.tokenizer().model();
  std::vector<std::string> out;
  if (const auto what = not_in_transformers(model); !what.empty()) {
    out.push_back(
        text(model.path, ": the SentencePiece model ", what,
             ", and LlamaTokenizer of transformers does not: ids of some texts differ from the "
             "run's; tokenize with the package sentencepiece"));
  }
  const auto is_added = [&](const auto& each) { return each.second == encoding.end_of_text(); };
  if (!encoding.end_of_text() || std::ranges::any_of(model.added_ids, is_added)) return out;
  if (const auto end = spelled_end_of_text(encoding, vocabulary_file(encoding))) {
    out.push_back(text("data.end_of_text is token ", end->id,
                       ", an ordinary token: transformers takes \"", end->text,
                       "\" in a text for it; a special token of the tokenizer has no such effect"));
  }
  return out;
}

}  // namespace evenkeel::convert
