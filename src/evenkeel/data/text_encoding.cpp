// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_encoding.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::data {

namespace {

tokenizer::Tokenizer tokenizer_of(const config::Data& data) {
  if (data.tokenizer == "bytes") return tokenizer::Tokenizer::bytes();
  return tokenizer::Tokenizer::load(data.tokenizer);
}

std::vector<std::string> special_texts(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (const auto& special : tokenizer.special_tokens()) texts.push_back(special.text);
  return texts;
}

/// The token that data.end_of_text names: a token id, or the text of a token.
TokenId named_token(const std::string& name, const tokenizer::Tokenizer& tokenizer) {
  TokenId id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error == std::errc() && end == name.data() + name.size()) return id;
  if (const auto found = tokenizer.find_token(name)) return *found;
  throw Error(Exit::data, text("data.end_of_text: the tokenizer has no token \"", name, "\"",
                               did_you_mean(name, special_texts(tokenizer))));
}

/// By id, the bytes of its text; 1 for special tokens.
TokenLengths lengths_of(const tokenizer::Tokenizer& tokenizer) {
  if (tokenizer.kind() == "bytes") return byte_token_lengths();
  std::vector<std::uint32_t> lengths(static_cast<std::size_t>(tokenizer.vocabulary()));
  for (std::size_t id = 0; id < lengths.size(); ++id) {
    lengths[id] =
        static_cast<std::uint32_t>(tokenizer.token_bytes(static_cast<TokenId>(id)).size());
  }
  for (const auto& special : tokenizer.special_tokens()) lengths[special.id] = 1;
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(lengths));
}

/// By id, the bytes of a special token's text without the one that lengths_of() counts; else 0.
std::vector<std::uint32_t> uncounted_of(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::uint32_t> bytes(static_cast<std::size_t>(tokenizer.vocabulary()));
  for (const auto& special : tokenizer.special_tokens()) {
    if (special.text.empty()) continue;
    bytes[special.id] = static_cast<std::uint32_t>(special.text.size() - 1);
  }
  return bytes;
}

void check_vocabulary(std::int64_t vocabulary, std::int64_t least) {
  if (vocabulary >= least) return;
  throw Error(Exit::usage, text("model.vocabulary must be at least ", least,
                                ", the tokenizer's, but is ", vocabulary));
}

}  // namespace

TextEncoding::TextEncoding(const config::Data& data, const std::optional<TrainedOn>& trained_on)
    : tokenizer_(tokenizer_of(data)),
      end_of_text_(data.end_of_text == "auto"
                       ? tokenizer_.end_of_text()
                       : std::optional<TokenId>(named_token(data.end_of_text, tokenizer_))),
      is_end_named_(data.end_of_text != "auto"),
      lengths_(lengths_of(tokenizer_)),
      uncounted_(uncounted_of(tokenizer_)),
      trained_on_(trained_on),
      begins_(data.begin.value_or(true)),
      prompt_begins_(data.begin   ? *data.begin
                     : trained_on ? !trained_on->token_files
                                  : !are_token_files(data.train, data)),
      special_in_text_(data.special_in_text) {}

TokenId TextEncoding::required_end_of_text() const {
  if (end_of_text_ && *end_of_text_ < vocabulary()) return *end_of_text_;
  if (end_of_text_) {
    throw Error(Exit::data, text("data.end_of_text must be a token of the tokenizer, from 0 to ",
                                 vocabulary() - 1, ", but is ", *end_of_text_));
  }
  std::string known;
  for (const auto& each : special_texts(tokenizer_)) known += (known.empty() ? "" : ", ") + each;
  throw Error(Exit::data, text(tokenizer_.path(),
                               ": must name an end-of-text token, but no special token is "
                               "called one; set data.end_of_text to one of: ",
                               known.empty() ? "(none)" : known));
}

void TextEncoding::check_end_of_text(std::int64_t vocabulary) const {
  const bool is_unused = !is_end_named_ && !is_of_vocabulary(vocabulary);  // of token files
  if (!end_of_text_ || *end_of_text_ < vocabulary || is_unused) return;
  throw Error(Exit::data, text("data.end_of_text must be a token id from 0 to ", vocabulary - 1,
                               ", but is ", *end_of_text_));
}

TextBytes TextEncoding::text_bytes(std::string_view text, std::span<const TokenId> ids) const {
  TextBytes bytes{.read = static_cast<std::int64_t>(text.size())};
  for (const auto id : ids) {
    bytes.counted += (*lengths_)[id];
    bytes.read -= uncounted_[id];
  }
  return bytes;
}

TextBytes TextEncoding::end_of_text_bytes(std::int64_t documents) const {
  return {.read = documents,
          .counted = documents * std::int64_t{(*lengths_)[required_end_of_text()]}};
}

std::vector<TokenId> TextEncoding::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  tokenizer::Encoder(tokenizer_, special_in_text_).encode(text, ids);
  return ids;
}

std::vector<std::int64_t> TextEncoding::prompt(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  if (prompt_begins_ && end_of_text_) tokens.push_back(*end_of_text_);
  const auto ids = encode(text);
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  return tokens;
}

bool TextEncoding::is_of_vocabulary(std::int64_t vocabulary) const {
  return !is_bytes() || vocabulary == kByteVocabulary;
}

void TextEncoding::check_holds_text(std::int64_t vocabulary) const {
  check_vocabulary(vocabulary, this->vocabulary());
}

namespace {

/// The size of a vocabulary. The tokenizer of a path is loaded once: a study asks for each run.
std::int64_t vocabulary_of_tokenizer(const config::Data& data) {
  static std::mutex mutex;
  static std::map<std::string, std::int64_t> known;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(data.tokenizer, none);
  const auto key = text(data.tokenizer, '\n', written.time_since_epoch().count());
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(key);
  if (is_new) {
    try {
      entry->second = tokenizer_of(data).vocabulary();
    } catch (...) {
      known.erase(entry);
      throw;
    }
  }
  return entry->second;
}

}  // namespace

std::int64_t vocabulary_of(const config::Config& config) {
  if (config.data.tokenizer != "bytes") return vocabulary_of_tokenizer(config.data);
  const auto vocabulary = config.model.vocabulary;
  if (vocabulary != 0 && has_text(config.data)) check_vocabulary(vocabulary, kByteVocabulary);
  return kByteVocabulary;
}

}  // namespace evenkeel::data
