// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/bpe.h"

#include <algorithm>
#include <cstring>

#include "evenkeel/tokenizer/refuse.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

template <typename T>
std::uint64_t loaded(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

BpeEncoder::BpeEncoder(const Bpe& bpe) : bpe_(bpe), cache_(kSlots) {}

std::size_t BpeEncoder::hash(std::string_view word) {
  // Loads that overlap cover a word of any length without a loop.
  const char* const begin = word.data();
  const char* const end = begin + word.size();
  std::uint64_t a = 0, b = 0;
  if (word.size() > 16) {
    a = loaded<std::uint64_t>(begin) ^ loaded<std::uint64_t>(end - 16) * 3;
    b = loaded<std::uint64_t>(begin + 8) ^ loaded<std::uint64_t>(end - 8) * 3;
  } else if (word.size() >= 8) {
    a = loaded<std::uint64_t>(begin);
    b = loaded<std::uint64_t>(end - 8);
  } else if (word.size() >= 4) {
    a = loaded<std::uint32_t>(begin);
    b = loaded<std::uint32_t>(end - 4);
  } else {
    a = loaded<std::uint8_t>(begin) | loaded<std::uint8_t>(begin + word.size() / 2) << 8;
    b = loaded<std::uint8_t>(end - 1);
  }
  // Odd constants with random bits (from pi).
  constexpr std::uint64_t kFirst = 0x243f6a8885a308d3, kSecond = 0x13198a2e03707345;
  const auto mixed = (a ^ word.size()) * kFirst + (b ^ b >> 31) * kSecond;
  return static_cast<std::size_t>(mixed >> 40 ^ mixed >> 20);
}

void BpeEncoder::fill(Slot& slot, std::string_view word, std::vector<Id>& out) {
  const auto begin = out.size();
  encode_uncached(word, out);
  const auto count = out.size() - begin;
  if (count > kMaxCachedIds) return;
  slot.bytes = static_cast<std::uint8_t>(word.size());
  slot.count = static_cast<std::uint8_t>(count);
  std::copy(word.begin(), word.end(), slot.key.begin());
  std::copy(out.end() - static_cast<std::ptrdiff_t>(count), out.end(), slot.ids.begin());
}

void BpeEncoder::encode_uncached(std::string_view word, std::vector<Id>& out) {
  if (bpe_.ignore_merges) {
    if (const auto found = bpe_.words.find(word); found != bpe_.words.end()) {
      out.push_back(found->second);
      return;
    }
  }
  if (bpe_.symbols != Bpe::Symbols::byte_level) return encode_part(word, out);
  // With ignore_merges the ids of a part differ from those of an equal word, which are held.
  const auto add = [&](std::string_view part) {
    bpe_.ignore_merges ? encode_part(part, out) : encode(part, out);
  };
  std::size_t begin = 0;
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (bpe_.neighbors.contains(word[at - 1], word[at])) continue;
    add(word.substr(begin, at - begin));
    begin = at;
  }
  if (begin == 0) return encode_part(word, out);
  add(word.substr(begin));
}

/// Encodes a part of a word that no merge crosses the ends of.
void BpeEncoder::encode_part(std::string_view part, std::vector<Id>& out) {
  begin_symbols(part);
  bpe_.merges.apply(ids_, scratch_);
  out.insert(out.end(), ids_.begin(), ids_.end());
}

void BpeEncoder::push_bytes(std::string_view bytes) {
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    const auto id = bpe_.byte_ids[byte];
    if (id == kNoId) {
      refuse("text", "each byte must have a token, but the tokenizer has none for byte ",
             static_cast<int>(byte), "; use another tokenizer");
    }
    ids_.push_back(id);
  }
}

void BpeEncoder::begin_symbols(std::string_view word) {
  ids_.clear();
  if (bpe_.symbols == Bpe::Symbols::byte_level) return push_bytes(word);
  for (std::size_t at = 0; at < word.size();) {
    const auto [code, length] = decode_utf8(word.data() + at);
    const auto id = bpe_.character_ids.of(code);
    if (id != kNoId || bpe_.unknown != kNoId) {
      ids_.push_back(id != kNoId ? id : bpe_.unknown);
    } else {
      push_bytes(word.substr(at, length));
    }
    at += length;
  }
}

}  // namespace evenkeel::tokenizer
