// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/python_text.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/stringoptions.h>

#include <charconv>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/base/white_space.h"

namespace evenkeel::tasks {

std::string_view rstrip(std::string_view text) {
  while (const auto space = white_space_at_end(text)) text.remove_suffix(space);
  return text;
}

std::string_view strip(std::string_view text) {
  while (const auto space = white_space_at_start(text)) text.remove_prefix(space);
  return rstrip(text);
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
