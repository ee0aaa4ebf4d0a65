// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evenkeel/tokenizer/byte_neighbors.h"
#include "evenkeel/tokenizer/character_ids.h"
#include "evenkeel/tokenizer/merges.h"

namespace evenkeel::tokenizer {

/// Finds a token by its bytes without a copy of them.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using IdByText = std::unordered_map<std::string, Id, TextHash, std::equal_to<>>;

/// A byte-pair encoding of words.
struct Bpe {
  /// byte_level: a word begins as its bytes. characters: as its characters; one without a token
  /// becomes the tokens of its bytes (byte_fallback), or `unknown`.
  enum class Symbols { byte_level, characters };
  Symbols symbols = Symbols::byte_level;
  std::array<Id, 256> byte_ids{};  // kNoId: no token
  CharacterIds character_ids;
  Id unknown = kNoId;          // of a character without a token; kNoId: it becomes bytes
  bool ignore_merges = false;  // a word that is a token is not built by merges
  IdByText words;              // with ignore_merges: all tokens
  Merges merges;
  ByteNeighbors neighbors;  // byte_level: of the results of the merges
};

/// Encodes words with a Bpe; holds the ids of frequent words. One thread uses it.
class BpeEncoder {
 public:
  /// \param bpe  outlives the encoder
  explicit BpeEncoder(const Bpe& bpe);

  /// Appends the ids of a word.
  /// \param word  not empty; well-formed UTF-8, or a part of it
  /// \throws Error (data, exit code 65) for a byte that has no token
  void encode(std::string_view word, std::vector<Id>& out) {
    if (word.size() > kMaxCachedBytes) return encode_uncached(word, out);
    auto& slot = cache_[hash(word) & (kSlots - 1)];
    if (slot.bytes != word.size() || word.compare({slot.key.data(), slot.bytes}) != 0) {
      return fill(slot, word, out);
    }
    out.insert(out.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
  }

 private:
  static constexpr std::size_t kMaxCachedBytes = 30;
  static constexpr std::size_t kMaxCachedIds = 8;
  static constexpr std::size_t kSlots = std::size_t{1} << 16;

  /// A word and its ids: one cache line.
  struct alignas(64) Slot {
    std::uint8_t bytes = 0, count = 0;
    std::array<char, kMaxCachedBytes> key;
    std::array<Id, kMaxCachedIds> ids;
  };
  static_assert(sizeof(Slot) == 64);

  static std::size_t hash(std::string_view word);
  void fill(Slot& slot, std::string_view word, std::vector<Id>& out);
  void encode_uncached(std::string_view word, std::vector<Id>& out);
  void begin_symbols(std::string_view word);
  void encode_part(std::string_view part, std::vector<Id>& out);
  void push_bytes(std::string_view bytes);

  const Bpe& bpe_;
  std::vector<Slot> cache_;
  std::vector<Id> ids_;
  Merges::Scratch scratch_;
};

}  // namespace evenkeel::tokenizer
