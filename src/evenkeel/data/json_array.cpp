// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_array.h"

#include <algorithm>
#include <cstdint>

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

void read_elements(TextWindow& window, const std::string& key,
                   const std::function<void(std::string_view document)>& use) {
  JsonText parser(key);
  for (std::int64_t number = 1;; ++number) {
    skip_space(window);
    const auto size = element_size(window, number);
    const auto value = without_space(window.view().substr(0, size));
    const bool is_last = window.view()[size] == ']';
    const JsonPlace place = {
        .path = window.path(), .number = number, .is_element = true, .offset = window.offset()};
    if (value.empty() && !(is_last && number == 1)) {
      window.refuse(text("element ", number, " must be a value, but is empty"));
    }
    if (!value.empty()) {
      if (const auto found = parser.find(value, place); !found.empty()) use(found);
    }
    window.consume(size + 1);
    if (is_last) return check_nothing_follows(window);
  }
}

}  // namespace

void read_json_array(TextWindow& window, const std::string& key,
                     const std::function<void(std::string_view document)>& use) {
  auto at = window.view().find_first_not_of(kJsonSpace);
  while (at == std::string_view::npos && window.grow()) {
    at = window.view().find_first_not_of(kJsonSpace);
  }
  if (at == std::string_view::npos) return;
  const auto rest = window.view().substr(at);
  if (rest.front() == '{') return read_json_lines(window, key, use);
  if (rest.front() != '[') {
    const auto length = std::max<std::size_t>(1, utf8_character_length(rest));
    check_utf8(rest.substr(0, length), window.path(), window.offset() + at);
    window.refuse(text("must be an array of strings or objects, but begins with ",
                       printable_line(rest.substr(0, length)),
                       "; set data.format to text or jsonl"));
  }
  window.consume(at + 1);
  read_elements(window, key, use);
}

}  // namespace evenkeel::data
