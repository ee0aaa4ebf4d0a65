// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/sentencepiece_bpe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "evenkeel/base/printable.h"
#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/tokenizer/metaspace.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

/// A piece of the model. Types are those of sentencepiece_model.proto.
struct Piece {
  enum Type : std::uint64_t { normal = 1, unknown, control, user_defined, unused, byte };
  std::string_view text;
  float score = 0;
  std::uint64_t type = normal;
  Id id = 0;

  bool is_one_character() const {
    return !text.empty() && first_character(text).length == text.size();
  }
};

Piece piece_of(std::string_view message) {
  constexpr std::uint64_t kText = 1, kScore = 2, kType = 3;
  Piece out;
  if (const auto text = protobuf_field(message, kText)) out.text = text->bytes;
  if (const auto type = protobuf_field(message, kType)) out.type = type->number;
  const auto score = protobuf_field(message, kScore);
  if (score && score->bytes.size() == sizeof out.score) {
    std::memcpy(&out.score, score->bytes.data(), sizeof out.score);
  }
  return out;
}

std::vector<Piece> pieces_of(std::string_view model) {
  constexpr std::uint64_t kPieces = 1;
  std::vector<Piece> out;
  while (const auto field = take_field(model)) {
    if (field->field != kPieces) continue;
    out.push_back(piece_of(field->bytes));
    out.back().id = static_cast<Id>(out.size() - 1);
  }
  return out;
}

/// One of the specs of the model. Protobuf merges a message that is there several times.
class Spec {
 public:
  Spec(std::string_view model, std::uint64_t field) {
    while (const auto found = take_field(model)) {
      if (found->field == field) all_.append(found->bytes);
    }
  }
  bool flag(std::uint64_t field, bool missing) const {
    const auto found = protobuf_field(all_, field);
    return found ? found->number != 0 : missing;
  }
  std::string_view bytes(std::uint64_t field) const {
    const auto found = protobuf_field(all_, field);
    return found ? found->bytes : std::string_view();
  }

 private:
  std::string all_;
};

/// Builds the merges of the pieces.
class SentencePieceReader {
 public:
  explicit SentencePieceReader(std::string_view model) : pieces_(pieces_of(model)) {}

  /// \return false if only libsentencepiece encodes with these pieces
  bool read() {
    bpe_.symbols = Bpe::Symbols::characters;
    bpe_.byte_ids.fill(kNoId);
    if (!std::all_of(pieces_.begin(), pieces_.end(), [this](Piece& each) { return enter(each); })) {
      return false;
    }
    std::sort(long_.begin(), long_.end(),
              [](const Piece* a, const Piece* b) { return a->score > b->score; });
    std::uint32_t rank = 0;  // equal for equal scores
    for (std::size_t at = 0; at < long_.size(); ++at) {
      if (at > 0 && long_[at]->score < long_[at - 1]->score) ++rank;
      if (!find_merges(*long_[at], rank)) return false;
    }
    bpe_.merges = Merges(merges_.size());
    for (const auto& each : merges_) {
      bpe_.merges.add(each.left, each.right, each.rank, each.merged);
    }
    return true;
  }

  void move_to(Model& model, bool has_byte_fallback) {
    if (!has_byte_fallback) bpe_.unknown = unknown_;
    model.bpe = std::move(bpe_);
    model.neighbors = std::move(neighbors_);
    model.normalized_added = symbols_;
    model.sentencepiece_normalizer->unchanged = std::move(symbols_);
  }

 private:
  struct Merge {
    Id left, right;
    std::uint32_t rank;
    Id merged;
  };

  bool enter(Piece& piece) {
    constexpr std::size_t kMaxBytes = 1024;  // the time grows with the square
    if (piece.text.size() > kMaxBytes || first_invalid_utf8(piece.text)) return false;
    const auto is_short = piece.is_one_character();
    switch (piece.type) {
      case Piece::normal:
        if (piece.text.empty() || std::isnan(piece.score)) return false;
        ids_.emplace(piece.text, piece.id);
        is_short ? bpe_.character_ids.set(first_character(piece.text).code, piece.id)
                 : long_.push_back(&piece);
        return true;
      case Piece::user_defined:
        if (piece.text.empty() || piece.text.find(' ') != std::string_view::npos) return false;
        symbols_.add({std::string(piece.text), piece.id, false});
        return true;
      case Piece::byte:
        if (const auto byte = fallback_byte(piece.text)) bpe_.byte_ids[*byte] = piece.id;
        return !is_short;
      case Piece::unknown:
        unknown_ = piece.id;
        return !is_short;
      case Piece::control:
        return !is_short;
      default:
        return false;
    }
  }

  /// Enters the merges whose result is the piece. \return false if it has a character without a
  /// token
  bool find_merges(const Piece& piece, std::uint32_t rank) {
    neighbors_.add(piece.text);
    for (std::size_t at = 0; at < piece.text.size();) {
      const auto [code, length] = decode_utf8(piece.text.data() + at);
      if (bpe_.character_ids.of(code) == kNoId) return false;
      at += length;
      const auto left = ids_.find(piece.text.substr(0, at));
      const auto right = ids_.find(piece.text.substr(at));
      if (left == ids_.end() || right == ids_.end()) continue;
      merges_.push_back({left->second, right->second, rank, piece.id});
    }
    return true;
  }

  std::vector<Piece> pieces_;
  IdByText ids_;                    // of normal pieces
  std::vector<const Piece*> long_;  // of several characters
  std::vector<Merge> merges_;
  AddedTokens symbols_;
  Neighbors neighbors_;
  Bpe bpe_;
  Id unknown_ = 0;
};

}  // namespace

bool read_sentencepiece_bpe(std::string_view content, Model& model) {
  constexpr std::uint64_t kTrainerSpec = 2, kByteFallback = 35;  // of sentencepiece_model.proto
  SentencePieceReader reader(content);
  if (!reader.read()) return false;
  model.sentencepiece_normalizer = read_sentencepiece_normalizer(content);
  reader.move_to(model, Spec(content, kTrainerSpec).flag(kByteFallback, false));
  return true;
}

SentencePieceNormalizer read_sentencepiece_normalizer(std::string_view content) {
  // Fields of sentencepiece_model.proto.
  constexpr std::uint64_t kTrainerSpec = 2, kSpaceAsSuffix = 24;
  constexpr std::uint64_t kNormalizerSpec = 3, kName = 1, kCharacterMap = 2, kAddDummyPrefix = 3,
                          kRemoveExtraSpaces = 4, kEscapeSpaces = 5;
  const Spec trainer(content, kTrainerSpec), normalizer(content, kNormalizerSpec);
  SentencePieceNormalizer out;
  out.name = printable_line(normalizer.bytes(kName));
  out.characters = CharacterMap(normalizer.bytes(kCharacterMap));
  out.add_dummy_prefix = normalizer.flag(kAddDummyPrefix, true);
  out.remove_extra_whitespaces = normalizer.flag(kRemoveExtraSpaces, true);
  out.escape_whitespaces = normalizer.flag(kEscapeSpaces, true);
  out.treat_whitespace_as_suffix = trainer.flag(kSpaceAsSuffix, false);
  return out;
}

}  // namespace evenkeel::tokenizer
