// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tokenizer_json.h"

#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::tokenizer {

namespace {

/// The id of an added token: the one it has in the vocabulary, if it is there.
Id added_id(const Field& token) {
  const auto id = token["id"].number();
  if (id >= kMaxVocabulary) {
    token["id"].refuse_value(evenkeel::text("less than ", kMaxVocabulary));
  }
  return static_cast<Id>(id);
}

void check_unsupported_flags(const Field& token) {
  for (const auto* flag : {"single_word", "lstrip", "rstrip"}) {
    if (token[flag].flag(false)) token[flag].refuse_value("false (true is not supported)");
  }
}

/// \param vocabulary  of the model: text -> id
void check_id(const Field& token, const std::string& text, Id id, const nlohmann::json& vocabulary,
              const Model& model) {
  const auto same_text = vocabulary.find(text);
  if (same_text == vocabulary.end()) {
    const bool is_taken = id < model.token_bytes.size() && !model.token_bytes[id].empty();
    if (is_taken) token["id"].refuse_value("an id that no other token has");
  } else if (*same_text != id) {
    token["id"].refuse_value(
        evenkeel::text(same_text->dump(), ", the id of the token in model.vocab"));
  }
  if (model.added_ids.contains(text)) {
    token["content"].refuse_value("a text that no other token has");
  }
}

void read_added_tokens(const Field& tokens, const Field& vocabulary, Model& model) {
  if (tokens.is_null()) return;
  const auto count = tokens.size_of("array");
  for (std::size_t at = 0; at < count; ++at) {
    const auto token = tokens[at];
    const auto& text = token["content"].string();
    if (text.empty()) continue;  // Hugging Face ignores it, too
    check_unsupported_flags(token);
    const auto id = added_id(token);
    const bool special = token["special"].flag(false);
    check_id(token, text, id, vocabulary.value(), model);
    model.add_added_token(text, id, special);
    if (token["normalized"].flag(!special)) {
      std::string hold;
      model.normalized_added.add({std::string(model.normalizer.apply(text, hold)), id, special});
    } else {
      model.raw_added.add({text, id, special});
    }
  }
}

/// The token that the post-processor puts before a text; nullopt for none.
std::optional<Id> first_token(const Field& processor) {
  if (processor.is_null()) return std::nullopt;
  const auto& type = processor.type();
  if (type == "ByteLevel") return std::nullopt;
  if (type == "Sequence") {
    const auto parts = processor["processors"];
    const auto count = parts.size_of("array");
    for (std::size_t at = 0; at < count; ++at) {
      if (const auto found = first_token(parts[at])) return found;
    }
    return std::nullopt;
  }
  if (type != "TemplateProcessing") {
    processor["type"].refuse_value("ByteLevel, TemplateProcessing or Sequence");
  }
  const auto single = processor["single"];
  if (single.size_of("array") == 0) return std::nullopt;
  const auto first = single[std::size_t{0}]["SpecialToken"];
  if (first.is_null()) return std::nullopt;
  const auto ids = processor["special_tokens"][first["id"].string().c_str()]["ids"];
  if (ids.size_of("array") != 1) ids.refuse_value("an array of one id");
  return static_cast<Id>(ids[std::size_t{0}].number());
}

void check_null(const Field& field) {
  if (!field.is_null()) field.refuse_value("null (it is not supported)");
}

/// Refuses a model of another kind, before its other parts are found wrong. An old file has no
/// type.
void check_kind_of_model(const Field& model) {
  if (model.is_null()) model.refuse_value("an object");
  const auto type = model["type"];
  if (type.is_null() || type.string() == "BPE") return;
  refuse(type.where(), "must be BPE, byte-level or with byte fallback, but is \"", type.string(),
         "\", which is not supported; docs/tokenizers.md lists what is");
}

/// What tokens of characters decode to. Bytes need no decoder.
Decoder decoder_of(const Field& root, bool is_byte_level) {
  if (is_byte_level) return {};
  const auto decoder = root["decoder"];
  return decoder.is_null() ? inverse_of(root["normalizer"], root["pre_tokenizer"])
                           : read_decoder(decoder);
}

/// Tokenizer::encoding_digest(). The keys of nlohmann::json are sorted.
std::string digest_of_encoding(nlohmann::json json) {
  for (const auto* const key : {"post_processor", "truncation", "padding"}) json.erase(key);
  const auto fields = json_dump(json);
  return evenkeel::digest(fields.data(), fields.size());
}

}  // namespace

Model tokenizer_json(const std::string& path, std::string_view content) {
  auto json = parse_json(content, path);
  const Field root(json, path);
  check_kind_of_model(root["model"]);
  check_null(root["truncation"]);
  check_null(root["padding"]);
  Model model;
  model.path = path;
  read_normalizer(root["normalizer"], model.normalizer);
  const bool is_byte_level = read_pre_tokenizer(root["pre_tokenizer"], model.pre_tokenizer);
  const auto bpe = root["model"];
  if (!is_byte_level && !bpe["byte_fallback"].flag(false)) {
    root["pre_tokenizer"].refuse_value("one with ByteLevel, unless model.byte_fallback is true");
  }
  model.kind = is_byte_level ? kByteLevel : kSentencePiece;
  const auto decoder = decoder_of(root, is_byte_level);
  model.strips_first_space = decoder.strips_first_space;
  read_bpe(bpe, is_byte_level ? Bpe::Symbols::byte_level : Bpe::Symbols::characters, decoder,
           model);
  read_added_tokens(root["added_tokens"], bpe["vocab"], model);
  model.begin_of_text = first_token(root["post_processor"]);
  model.encoding_digest = digest_of_encoding(std::move(json));  // last: root refers to it
  return model;
}

}  // namespace evenkeel::tokenizer
