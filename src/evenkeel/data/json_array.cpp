// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_array.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/data/json_lines.h"
#include "evenkeel/data/json_text.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kJsonSpace = " \t\r\n";

/// Removes white space from the front of the window. \return false at the end of the text
bool skip_space(TextWindow& window) {
  for (;;) {
    const auto at = window.view().find_first_not_of(kJsonSpace);
    if (at != std::string_view::npos) {
      window.consume(at);
      return true;
    }
    window.consume(window.view().size());
    if (!window.grow()) return false;
  }
}

/// Finds the end of an element: a comma or bracket outside of strings and inner values.
class ElementScanner {
 public:
  /// Continues the search in a view that has grown. \return the size of the element, or npos
  std::size_t scan(std::string_view view) {
    for (; at_ < view.size(); ++at_) {
      const char each = view[at_];
      if (in_string_) {
        in_string_ = is_escaped_ || each != '"';
        is_escaped_ = !is_escaped_ && each == '\\';
      } else if (each == '"') {
        in_string_ = true;
      } else if (each == '{' || each == '[') {
        ++depth_;
      } else if (depth_ == 0 && (each == ',' || each == ']')) {
        return at_;
      } else if (each == '}' || each == ']') {
        --depth_;
      }
    }
    return std::string_view::npos;
  }

 private:
  std::size_t at_ = 0;
  std::int64_t depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
};

/// The size of the element at the front of the window.
/// \param number  of the element, for messages
std::size_t element_size(TextWindow& window, std::int64_t number) {
  ElementScanner scanner;
  for (;;) {
    const auto size = scanner.scan(window.view());
    if (size != std::string_view::npos) return size;
    if (!window.grow()) {
      window.refuse(text("the array must end with ], but the file ends in element ", number,
                         "; copy or download the file again"));
    }
  }
}

std::string_view without_space(std::string_view value) {
  const auto last = value.find_last_not_of(kJsonSpace);
  return value.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

void check_nothing_follows(TextWindow& window) {
  if (!skip_space(window)) return;
  window.refuse(text("must end after its array, but more follows at byte ", window.offset(),
                     "; JSON with one value per line ends in .jsonl"));
}

/// The offset in the window of the first character that is no white space; npos for none.
std::size_t first_character(TextWindow& window) {
  auto at = window.view().find_first_not_of(kJsonSpace);
  while (at == std::string_view::npos && window.grow()) {
    at = window.view().find_first_not_of(kJsonSpace);
  }
  return at;
}

[[noreturn]] void refuse_start(const TextWindow& window, std::size_t at) {
  const auto rest = window.view().substr(at);
  const auto length = std::max<std::size_t>(1, utf8_character_length(rest));
  check_utf8(rest.substr(0, length), window.path(), window.offset() + at);
  window.refuse(text("must be an array of strings or objects, but begins with ",
                     printable_line(rest.substr(0, length)), "; set data.format to text or jsonl"));
}

}  // namespace

bool begins_with_object(TextWindow& window) {
  const auto at = first_character(window);
  return at != std::string_view::npos && window.view()[at] == '{';
}

JsonArrayReader::JsonArrayReader(TextWindow& window, const std::string& key)
    : window_(window), parser_(key) {
  const auto at = first_character(window);
  is_at_end_ = at == std::string_view::npos;
  if (is_at_end_) return;
  if (window.view()[at] != '[') refuse_start(window, at);
  window.consume(at + 1);
}

std::optional<std::string_view> JsonArrayReader::next() {
  window_.consume(std::exchange(taken_, 0));
  if (is_at_end_) {
    check_nothing_follows(window_);
    return std::nullopt;
  }
  ++number_;
  skip_space(window_);
  const auto size = element_size(window_, number_);
  const auto value = without_space(window_.view().substr(0, size));
  const JsonPlace place = {
      .path = window_.path(), .number = number_, .is_element = true, .offset = window_.offset()};
  is_at_end_ = window_.view()[size] == ']';
  taken_ = size + 1;
  if (!value.empty()) return parser_.find(value, place);
  if (is_at_end_ && number_ == 1) return next();
  window_.refuse(text("element ", number_, " must be a value, but is empty"));
}

JsonCounts read_json_array(TextWindow& window, const std::string& key,
                           const std::function<void(std::string_view document)>& use,
                           bool skips_invalid) {
  if (begins_with_object(window)) return read_json_lines(window, key, use, skips_invalid);
  JsonArrayReader elements(window, key);
  while (const auto document = elements.next()) {
    if (!document->empty()) use(*document);
  }
  return elements.take_counts();
}

}  // namespace evenkeel::data
