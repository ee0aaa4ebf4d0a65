// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/encoder.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "evenkeel/base/utf8.h"
#include "evenkeel/tokenizer/model.h"
#include "evenkeel/tokenizer/refuse.h"
#include "evenkeel/tokenizer/sentencepiece_file.h"

namespace evenkeel::tokenizer {

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// The offset of the first byte that is not UTF-8; the size of the text for none. Skips ASCII eight
/// bytes at a time.
std::size_t valid_utf8_bytes(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const auto length = utf8_character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

void check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    refuse("text", "must have at most ", kMaxTextBytes, " bytes, but has ", text.size(),
           "; divide it into documents");
  }
  const auto valid = valid_utf8_bytes(text);
  if (valid < text.size()) {
    refuse("text", "must be UTF-8, but is not at byte ", valid);
  }
}

}  // namespace

struct Encoder::State {
  State(Tokenizer used, bool special)
      : tokenizer(std::move(used)), model(tokenizer.model()), special_in_text(special) {
    if (!model.is_bytes) bpe.emplace(model.bpe);
  }

  void encode(std::string_view text, Begin begin, std::vector<Id>& out);
  void encode_part(std::string_view part, Begin begin, std::vector<Id>& out);
  void encode_word(std::string_view word, std::vector<Id>& out);
  void join_unknown(std::size_t begin, std::vector<Id>& out) const;

  const Tokenizer tokenizer;
  const Model& model;
  const bool special_in_text;
  std::optional<BpeEncoder> bpe;  // none for bytes
  PreTokenizer::Scratch scratch;
  std::string normalized;
};

Encoder::Encoder(const Tokenizer& tokenizer, bool special_in_text)
    : state_(std::make_unique<State>(tokenizer, special_in_text)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

void Encoder::encode(std::string_view utf8, std::vector<Id>& out, bool continues) {
  state_->encode(utf8, continues ? Begin::rest : Begin::text, out);
}

void Encoder::State::encode(std::string_view text, Begin begin, std::vector<Id>& out) {
  if (model.is_bytes) {
    for (const char each : text) out.push_back(static_cast<unsigned char>(each));
    return;
  }
  check_text(text);
  model.raw_added.cut(
      text, special_in_text,
      [&](std::string_view part) {
        encode_part(part, part.data() == text.data() ? begin : Begin::inside, out);
      },
      [&](Id id) { out.push_back(id); });
}

void Encoder::State::encode_part(std::string_view part, Begin begin, std::vector<Id>& out) {
  if (model.sentencepiece) return model.sentencepiece->encode(part, out);
  const auto first_id = out.size();
  const bool continues = begin == Begin::rest;
  const auto text = model.sentencepiece_normalizer
                        ? model.sentencepiece_normalizer->apply(part, normalized, continues)
                        : model.normalizer.apply(part, normalized, !continues);
  model.normalized_added.cut(
      text, special_in_text,
      [&](std::string_view piece) {
        model.pre_tokenizer.words(piece, piece.data() == text.data() ? begin : Begin::inside,
                                  scratch, [&](std::string_view word) { encode_word(word, out); });
      },
      [&](Id id) { out.push_back(id); });
  if (model.bpe.unknown != kNoId) join_unknown(first_id, out);
}

/// Neighboring characters without a token are one unknown token.
void Encoder::State::join_unknown(std::size_t begin, std::vector<Id>& out) const {
  const auto both_unknown = [this](Id a, Id b) { return a == b && a == model.bpe.unknown; };
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(begin);
  out.erase(std::unique(first, out.end(), both_unknown), out.end());
}

void Encoder::State::encode_word(std::string_view word, std::vector<Id>& out) {
  if (!model.neighbors) return bpe->encode(word, out);
  model.neighbors->divide(word, [&](std::string_view part) { bpe->encode(part, out); });
}

}  // namespace evenkeel::tokenizer
