// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/python_text.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/stringoptions.h>

#include <charconv>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"

namespace evenkeel::tasks {

namespace {

/// The white space of str.isspace(): characters of category Zs or of bidirectional class WS, B or
/// S.
constexpr std::string_view kSpaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",
    "\x1c",         "\x1d",         "\x1e",         "\x1f",         " ",
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

/// The white space character at one end of a text; empty if there is none.
std::string_view space_at_end(std::string_view text, bool at_start) {
  for (const auto& space : kSpaces) {
    if (at_start ? text.starts_with(space) : text.ends_with(space)) return space;
  }
  return {};
}

}  // namespace

std::string_view strip(std::string_view text) {
  for (auto space = space_at_end(text, true); !space.empty(); space = space_at_end(text, true)) {
    text.remove_prefix(space.size());
  }
  for (auto space = space_at_end(text, false); !space.empty(); space = space_at_end(text, false)) {
    text.remove_suffix(space.size());
  }
  return text;
}

std::string capitalize(std::string_view text) {
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToTitle("", U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT, nullptr,
                            {text.data(), static_cast<std::int32_t>(text.size())}, sink, nullptr,
                            error);
  EK_ASSERT(U_SUCCESS(error));
  return out;
}

std::string first_lower(std::string_view text) {
  if (text.empty()) return {};
  const auto first = text.substr(0, utf8_character_length(text));
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, {first.data(), static_cast<std::int32_t>(first.size())}, sink,
                            nullptr, error);
  EK_ASSERT(U_SUCCESS(error));
  return out.append(text.substr(first.size()));
}

std::string_view without_last(std::string_view text) {
  while (!text.empty() && is_utf8_continuation(text.back())) text.remove_suffix(1);
  return text.substr(0, text.empty() ? 0 : text.size() - 1);
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  text = strip(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace evenkeel::tasks
