// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tokenizer.h"

#include <algorithm>
#include <filesystem>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/tokenizer/model.h"
#include "evenkeel/tokenizer/refuse.h"
#include "evenkeel/tokenizer/sentencepiece_file.h"
#include "evenkeel/tokenizer/tiktoken_file.h"
#include "evenkeel/tokenizer/tokenizer_json.h"

namespace evenkeel::tokenizer {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;
constexpr Id kBytes = 256;

Model byte_model() {
  Model model;
  model.kind = model.digest = "bytes";
  model.is_bytes = true;
  for (Id byte = 0; byte < kBytes; ++byte)
    model.add_token(std::string(1, static_cast<char>(byte)), byte);
  model.add_added_token(kEndOfText, kBytes, true);
  model.end_of_text = kBytes;
  return model;
}

/// The file that `path` names: itself, or the tokenizer in a folder.
fs::path tokenizer_file(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) {
    refuse(path.string(),
           "must be a tokenizer (tokenizer.json, .model, .tiktoken) or a folder with "
           "one, but is missing; name one, or \"bytes\"");
  }
  if (!fs::is_directory(path, none)) return path;
  for (const auto* name : {"tokenizer.json", "tokenizer.model"}) {
    if (fs::exists(path / name, none)) return path / name;
  }
  refuse(path.string(),
         "must hold tokenizer.json or tokenizer.model, but has neither; name the file");
}

/// The model of a file, whose kind is that of its first bytes: a .model may be of SentencePiece or,
/// as that of Llama 3, of tiktoken.
Model file_model(const std::string& path, std::string_view content, const LoadOptions& options) {
  constexpr char kFirstField = '\n';  // of a SentencePiece model: number 1, a message
  const auto first = content.find_first_not_of(" \t\r\n");
  const bool is_object = first != std::string_view::npos && content[first] == '{';
  if (is_object || path.ends_with(".json")) return tokenizer_json(path, content);
  if (content.starts_with(kFirstField)) return sentencepiece_file(path, content);
  return tiktoken_file(path, content, options.pattern);
}

/// The text of eos_token in the tokenizer_config.json of the file's folder; empty for none.
std::string configured_end(const fs::path& file) {
  const auto path = file.parent_path() / "tokenizer_config.json";
  std::error_code none;
  if (!fs::exists(path, none)) return {};
  const auto json = parse_json(read_file(path), path.string());
  const auto end = Field(json, path.string())["eos_token"];
  if (end.is_null()) return {};
  return end.value().is_object() ? end["content"].string() : end.string();
}

void find_end_of_text(const fs::path& file, Model& model) {
  const auto known = [&](const std::string& text) -> std::optional<Id> {
    const auto found = model.added_ids.find(text);
    return found == model.added_ids.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto end = known(kEndOfText)) {
    model.end_of_text = end;
  } else if (const auto configured = known(configured_end(file))) {
    model.end_of_text = configured;
  }
}

}  // namespace

Tokenizer Tokenizer::bytes() {
  return Tokenizer(std::make_shared<const Model>(byte_model()));
}

Tokenizer Tokenizer::load(const std::string& path, const LoadOptions& options) {
  const auto file = tokenizer_file(path);
  const auto content = read_file(file, kMaxFileBytes);
  auto model = file_model(file.string(), content, options);
  model.digest = evenkeel::digest(content.data(), content.size());
  find_end_of_text(file, model);
  std::sort(model.special_tokens.begin(), model.special_tokens.end(),
            [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  return Tokenizer(std::make_shared<const Model>(std::move(model)));
}

const std::string& Tokenizer::kind() const {
  return model_->kind;
}

const std::string& Tokenizer::path() const {
  return model_->path;
}

std::int64_t Tokenizer::vocabulary() const {
  return static_cast<std::int64_t>(model_->token_bytes.size());
}

const std::string& Tokenizer::digest() const {
  return model_->digest;
}

const std::string& Tokenizer::encoding_digest() const {
  return model_->encoding_digest;
}

const std::vector<SpecialToken>& Tokenizer::special_tokens() const {
  return model_->special_tokens;
}

std::optional<Id> Tokenizer::find_token(std::string_view text) const {
  for (const auto* ids : {&model_->added_ids, &model_->ids}) {
    if (const auto found = ids->find(text); found != ids->end()) return found->second;
  }
  return std::nullopt;
}

std::optional<Id> Tokenizer::end_of_text() const {
  return model_->end_of_text;
}

std::optional<Id> Tokenizer::begin_of_text() const {
  return model_->begin_of_text;
}

bool Tokenizer::begins_with_special() const {
  return model_->begin_of_text.has_value();
}

const std::string& Tokenizer::text_changes() const {
  return model_->text_changes;
}

LineCut Tokenizer::line_cut() const {
  if (model_->is_bytes) return LineCut::after;
  const auto has_line_end = [](const auto& token) {
    return token.first.find_first_of("\r\n") != std::string::npos;
  };
  const bool is_local =
      !model_->sentencepiece && model_->bpe.symbols == Bpe::Symbols::byte_level &&
      model_->normalizer.is_of_unicode() &&
      std::none_of(model_->added_ids.begin(), model_->added_ids.end(), has_line_end);
  return is_local ? model_->pre_tokenizer.line_cut() : LineCut::unknown;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  std::string out;
  const auto count = static_cast<std::int64_t>(model_->token_bytes.size());
  for (const auto id : ids) {
    if (id >= 0 && id < count) out += model_->token_bytes[static_cast<std::size_t>(id)];
  }
  if (model_->strips_first_space && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

std::string Tokenizer::token_bytes(Id id) const {
  return id < model_->token_bytes.size() ? model_->token_bytes[id] : std::string();
}

}  // namespace evenkeel::tokenizer
