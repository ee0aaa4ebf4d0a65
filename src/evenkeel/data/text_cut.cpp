// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_cut.h"

#include "evenkeel/base/utf8.h"
#include "evenkeel/base/white_space.h"

namespace evenkeel::data {

namespace {

using tokenizer::LineCut;

bool is_ascii_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

/// The offset to cut at, for the line feed at `at`; 0 if the text may not be cut there.
std::size_t cut_at(std::string_view text, std::size_t at, LineCut where) {
  const auto before = text.substr(0, at), after = text.substr(at + 1);
  if (before.empty() || after.empty()) return 0;
  if (utf8_character_length(after) == 0 || white_space_at_start(after) > 0) return 0;
  if (after.front() == '/') return 0;  // GPT-4o's pattern has line feeds and slashes in one word
  if (where == LineCut::before) return at;
  if (where == LineCut::after || white_space_at_end(before) == 0) return at + 1;
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
