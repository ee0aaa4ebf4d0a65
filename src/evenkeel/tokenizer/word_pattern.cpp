// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/word_pattern.h"

#include "evenkeel/tokenizer/code_classes.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

using Class = CodeClasses;
constexpr unsigned kAnyNumber = 0xffffffff;

/// A character of the text: its classes and the byte after it. Past the end: no class, length 0.
struct Character {
  std::uint8_t classes = 0;
  unsigned length = 0;
  char32_t code = 0;
  bool is(std::uint8_t any_of) const { return (classes & any_of) != 0; }
  /// Neither space nor letter nor number: `[^\s\p{L}\p{N}]`.
  bool is_other() const { return length != 0 && !is(Class::space | Class::letter | Class::number); }
};

/// Reads characters of one text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), classes_(CodeClasses::instance()) {}

  /// Most characters are ASCII, so that only their case is inlined.
  [[gnu::always_inline]] Character at(std::size_t position) const {
    if (position >= text_.size()) return {};
    const auto byte = static_cast<unsigned char>(text_[position]);
    return byte < 0x80 ? Character{classes_.of_ascii(byte), 1, byte} : at_wide(position);
  }

  /// The end of the run of characters from `position` on that `wanted` selects, at most `most`.
  template <typename Wanted>
  std::size_t run(std::size_t position, const Wanted& wanted, unsigned most = kAnyNumber) const {
    for (; most > 0; --most) {
      const auto each = at(position);
      if (each.length == 0 || !wanted(each)) break;
      position += each.length;
    }
    return position;
  }

  std::size_t size() const { return text_.size(); }
  char byte(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

 private:
  [[gnu::noinline]] Character at_wide(std::size_t position) const {
    const auto [code, length] = decode_utf8(text_.data() + position);
    return {classes_.of(code), length, code};
  }

  std::string_view text_;
  const CodeClasses& classes_;
};

bool is_letter(const Character& each) {
  return each.is(Class::letter);
}
bool is_number(const Character& each) {
  return each.is(Class::number);
}
bool is_other(const Character& each) {
  return each.is_other();
}
bool is_line_end(const Character& each) {
  return each.is(Class::line_end);
}

/// The bytes of `'s|'t|'re|'ve|'m|'ll|'d` at an apostrophe; 0 for no match. U+017F is an s without
/// case.
std::size_t contraction(const Reader& text, std::size_t at, bool caseless) {
  const auto folded = [&](std::size_t position) {
    const char byte = text.byte(position);
    return caseless && byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  };
  if (text.byte(at) != '\'') return 0;
  const char first = folded(at + 1), second = folded(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) {
    return 3;
  }
  constexpr char32_t kLongS = 0x17f;
  const auto next = caseless ? text.at(at + 1) : Character{};
  return next.code == kLongS ? 1 + next.length : 0;
}

/// `\s+(?!\S)|\s+` at white space; with `lines`, `\s*[\r\n]+` before.
std::size_t end_of_spaces(const Reader& text, std::size_t begin, bool lines, bool whole_tail) {
  std::size_t last = begin;  // begin of the last character
  std::size_t line = 0;      // end of the last line end
  auto at = begin;
  for (auto each = text.at(at); each.is(Class::space); each = text.at(at)) {
    last = at;
    at += each.length;
    if (each.is(Class::line_end)) line = at;
  }
  if (whole_tail && at == text.size()) return at;
  if (lines && line > 0) return line;
  return at == text.size() || last == begin ? at : last;
}

std::size_t end_of_gpt2(const Reader& text, std::size_t at) {
  auto first = text.at(at);
  if (const auto bytes = contraction(text, at, false)) return at + bytes;
  auto begin = at;
  if (first.code == ' ') {
    const auto next = text.at(at + 1);
    if (next.length != 0 && !next.is(Class::space)) {
      first = next;
      ++begin;
    }
  }
  if (first.is(Class::letter)) return text.run(begin, is_letter);
  if (first.is(Class::number)) return text.run(begin, is_number);
  if (first.is_other()) return text.run(begin, is_other);
  return end_of_spaces(text, at, false, false);
}

/// The last alternatives of GPT-4's patterns: symbols, numbers, white space.
std::size_t end_of_symbols(const Reader& text, std::size_t at, unsigned digits, bool slash,
                           bool whole_tail) {
  const auto first = text.at(at);
  if (first.is(Class::number)) return text.run(at, is_number, digits);
  const auto begin = first.code == ' ' ? at + 1 : at;
  if (text.at(begin).is_other()) {
    const auto end = text.run(begin, is_other);
    if (!slash) return text.run(end, is_line_end);
    return text.run(end,
                    [](const Character& each) { return is_line_end(each) || each.code == '/'; });
  }
  return end_of_spaces(text, at, true, whole_tail);
}

std::size_t end_of_gpt4(const Reader& text, std::size_t at, unsigned digits, bool whole_tail) {
  const auto first = text.at(at);
  if (first.is(Class::letter)) return text.run(at, is_letter);
  if (const auto bytes = contraction(text, at, true)) return at + bytes;
  if (!first.is(Class::line_end | Class::number)) {
    const auto begin = at + first.length;
    if (text.at(begin).is(Class::letter)) return text.run(begin, is_letter);
  }
  return end_of_symbols(text, at, digits, false, whole_tail);
}

bool is_upper(const Character& each) {
  return each.is(Class::upper);
}
bool is_lower(const Character& each) {
  return each.is(Class::lower);
}

/// The end of `[upper]*[lower]+` from `begin` on; 0 for no match. [upper]* gives characters back
/// until one of them is of [lower].
std::size_t end_of_lower_word(const Reader& text, std::size_t begin) {
  auto at = begin;
  std::size_t both = 0;  // end of the last character of both classes
  for (auto each = text.at(at); is_upper(each); each = text.at(at)) {
    at += each.length;
    if (is_lower(each)) both = at;
  }
  const auto end = text.run(at, is_lower);
  return end > at ? end : both;
}

/// The end of `[upper]+[lower]*` where end_of_lower_word() is 0; 0 for no match.
std::size_t end_of_upper_word(const Reader& text, std::size_t begin) {
  const auto end = text.run(begin, is_upper);
  return end > begin ? end : 0;
}

std::size_t end_of_o200k(const Reader& text, std::size_t at) {
  const auto first = text.at(at);
  const auto skipped = at + first.length;  // begin of a word after `[^\r\n\p{L}\p{N}]?`
  const bool may_skip = !first.is(Class::line_end | Class::number | Class::letter);
  auto end = may_skip ? end_of_lower_word(text, skipped) : 0;
  if (end == 0) end = end_of_lower_word(text, at);
  if (end == 0 && may_skip) end = end_of_upper_word(text, skipped);
  if (end == 0) end = end_of_upper_word(text, at);
  constexpr unsigned kDigits = 3;
  if (end == 0) return end_of_symbols(text, at, kDigits, true, false);
  return end + contraction(text, end, true);
}

}  // namespace

struct WordPattern::Known {
  std::string_view pattern;
  Kind kind;
  unsigned digits;
  bool whole_tail;
};

const WordPattern::Known WordPattern::kKnown[] = {
    {kGpt2Pattern, Kind::gpt2, kAnyNumber, false},
    {kTiktokenGpt2Pattern, Kind::gpt2, kAnyNumber, false},
    {kGpt4Pattern, Kind::gpt4, 3, false},
    {kTiktokenGpt4Pattern, Kind::gpt4, 3, true},
    {kRubyTiktokenGpt4Pattern, Kind::gpt4, 3, true},
    {kQwen2Pattern, Kind::gpt4, 1, false},
    {kO200kPattern, Kind::o200k, 3, false},
    // Forms of GPT-4's pattern, for groups of three and of two digits.
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
     R"(|\s*[\r\n]|\s+(?!\S)|\s+)",
     Kind::gpt4, 3, false},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
     R"(|\s*[\r\n]|\s+(?!\S)|\s+)",
     Kind::gpt4, 2, false},
};

std::vector<std::string_view> WordPattern::known() {
  std::vector<std::string_view> out;
  for (const auto& each : kKnown) out.push_back(each.pattern);
  return out;
}

std::optional<WordPattern> WordPattern::of(std::string_view pattern, Syntax syntax) {
  // In Ruby's syntax its `{1,3}+` is not possessive: any number of digits is one match.
  if (pattern == kTiktokenGpt4Pattern && syntax == Syntax::ruby) return std::nullopt;
  for (const auto& each : kKnown) {
    if (each.pattern == pattern) return WordPattern(each.kind, each.digits, each.whole_tail);
  }
  return std::nullopt;
}

std::size_t WordPattern::end_of_match(std::string_view text, std::size_t at) const {
  const Reader reader(text);
  switch (kind_) {
    case Kind::gpt2:
      return end_of_gpt2(reader, at);
    case Kind::gpt4:
      return end_of_gpt4(reader, at, digits_, whole_tail_);
    case Kind::o200k:
      return end_of_o200k(reader, at);
  }
  return text.size();
}

}  // namespace evenkeel::tokenizer
