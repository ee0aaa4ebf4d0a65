// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_cut.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "evenkeel/base/utf8.h"

namespace evenkeel::data {

namespace {

using tokenizer::LineCut;

/// The white space of Unicode that is not ASCII, in UTF-8.
constexpr std::array<std::string_view, 19> kWideSpaces = {
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

bool is_ascii_space(char each) {
  return each == ' ' || (each >= '\t' && each <= '\r') || (each >= '\x1c' && each <= '\x1f');
}

bool begins_with_space(std::string_view text) {
  return is_ascii_space(text.front()) ||
         std::any_of(kWideSpaces.begin(), kWideSpaces.end(),
                     [&](std::string_view space) { return text.starts_with(space); });
}

bool ends_with_space(std::string_view text) {
  return is_ascii_space(text.back()) ||
         std::any_of(kWideSpaces.begin(), kWideSpaces.end(),
                     [&](std::string_view space) { return text.ends_with(space); });
}

bool is_ascii_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

/// The offset to cut at, for the line feed at `at`; 0 if the text may not be cut there.
std::size_t cut_at(std::string_view text, std::size_t at, LineCut where) {
  const auto before = text.substr(0, at), after = text.substr(at + 1);
  if (before.empty() || after.empty()) return 0;
  if (utf8_character_length(after) == 0 || begins_with_space(after)) return 0;
  if (after.front() == '/') return 0;  // GPT-4o's pattern has line feeds and slashes in one word
  if (where == LineCut::before) return at;
  if (where == LineCut::after || !ends_with_space(before)) return at + 1;
  const bool is_crlf = before.size() > 1 && before.back() == '\r';
  return is_crlf && is_ascii_letter(before[before.size() - 2]) ? at - 1 : 0;
}

}  // namespace

std::size_t last_cut(std::string_view text, LineCut where) {
  for (auto at = text.rfind('\n'); at != std::string_view::npos; at = text.rfind('\n', at - 1)) {
    if (const auto cut = cut_at(text, at, where); cut > 0) return cut;
    if (at == 0) break;
  }
  return 0;
}

}  // namespace evenkeel::data
