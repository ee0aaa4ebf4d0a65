// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/sentencepiece_normalizer.h"

#include <algorithm>
#include <cstring>

#include "evenkeel/base/error.h"
#include "evenkeel/tokenizer/metaspace.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

/// A unit of a double array of Darts: a node of the trie, or the value of one.
struct DartsUnit {
  std::uint32_t bits;
  bool has_leaf() const { return (bits >> 8 & 1) != 0; }
  std::uint32_t value() const { return bits & 0x7fffffff; }
  std::uint32_t label() const { return bits & 0x800000ff; }
  std::uint32_t offset() const { return bits >> 10 << ((bits & 0x200) >> 6); }
};

}  // namespace

CharacterMap::CharacterMap(std::string_view content) {
  std::uint32_t size = 0;
  if (content.size() <= sizeof size) return;
  std::memcpy(&size, content.data(), sizeof size);
  content.remove_prefix(sizeof size);
  if (size < sizeof(std::uint32_t) || size >= content.size()) return;
  units_.resize(size / sizeof(std::uint32_t));
  std::memcpy(units_.data(), content.data(), units_.size() * sizeof(std::uint32_t));
  texts_ = content.substr(size);
}

std::pair<std::string_view, std::size_t> CharacterMap::at(std::string_view text,
                                                          std::size_t at) const {
  std::size_t length = 0, found = 0;
  const auto unit = [this](std::uint32_t node) { return DartsUnit{units_[node]}; };
  std::uint32_t node = units_.empty() ? 0 : unit(0).offset();
  for (auto end = at; end < text.size(); ++end) {
    const auto byte = static_cast<unsigned char>(text[end]);
    node ^= byte;
    if (node >= units_.size() || unit(node).label() != byte) break;
    const bool has_leaf = unit(node).has_leaf();
    node ^= unit(node).offset();
    if (node >= units_.size()) break;
    if (!has_leaf) continue;
    found = unit(node).value();
    length = end + 1 - at;
  }
  if (length == 0 || found >= texts_.size()) {
    const auto one = decode_utf8(text.data() + at).length;
    return {text.substr(at, one), one};
  }
  return {texts_.c_str() + found, length};
}

std::string SentencePieceNormalizer::changes() const {
  std::string out;
  if (!characters.empty()) {
    out = name.empty() ? "replaces characters" : text("replaces characters (", name, ")");
  }
  if (remove_extra_whitespaces) out += text(out.empty() ? "" : " and ", "removes extra spaces");
  return out;
}

std::string_view SentencePieceNormalizer::space() const {
  return escape_whitespaces ? kMetaspace : " ";
}

std::pair<std::string_view, std::size_t> SentencePieceNormalizer::next(std::string_view text,
                                                                       std::size_t at) const {
  if (const auto* const symbol = unchanged.match_at(text, at)) {
    return {symbol->text, symbol->text.size()};
  }
  return characters.at(text, at);
}

/// True if a line feed becomes a space, which is dropped at the end of a text.
bool SentencePieceNormalizer::drops_line_feed() const {
  return remove_extra_whitespaces && next("\n", 0).first == " ";
}

std::size_t SentencePieceNormalizer::first_after_spaces(std::string_view text) const {
  std::size_t at = 0;
  while (remove_extra_whitespaces && at < text.size()) {
    const auto [piece, length] = next(text, at);
    if (piece != " ") break;
    at += length;
  }
  return at;
}

/// Without a map: a run of other characters at a time.
void SentencePieceNormalizer::append_plain(std::string_view text, std::size_t at,
                                           std::string& out) const {
  bool after_space = remove_extra_whitespaces;
  while (at < text.size()) {
    if (text[at] == ' ') {
      if (!after_space) out += space();
      after_space = remove_extra_whitespaces;
      ++at;
      continue;
    }
    const auto end = std::min(text.find(' ', at), text.size());
    out.append(text.substr(at, end - at));
    after_space = false;
    at = end;
  }
}

void SentencePieceNormalizer::append_mapped(std::string_view text, std::size_t at,
                                            std::string& out) const {
  bool after_space = remove_extra_whitespaces;
  while (at < text.size()) {
    auto [piece, length] = next(text, at);
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    for (const char each : piece) each == ' ' ? void(out += space()) : void(out += each);
    if (!piece.empty()) after_space = remove_extra_whitespaces && piece.ends_with(' ');
    at += length;
  }
}

std::string_view SentencePieceNormalizer::apply(std::string_view text, std::string& hold,
                                                bool continues) const {
  hold.clear();
  const auto at = first_after_spaces(text);
  if (at == text.size()) return hold;
  // The prefix of a rest takes the place of the line feed before it, where that was dropped.
  const bool has_prefix = add_dummy_prefix && (!continues || drops_line_feed());
  if (!treat_whitespace_as_suffix && has_prefix) hold += space();
  characters.empty() ? append_plain(text, at, hold) : append_mapped(text, at, hold);
  while (remove_extra_whitespaces && hold.ends_with(space())) {
    hold.resize(hold.size() - space().size());
  }
  if (treat_whitespace_as_suffix && add_dummy_prefix) hold += space();
  return hold;
}

}  // namespace evenkeel::tokenizer
