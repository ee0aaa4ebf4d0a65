// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <algorithm>
#include <cstdint>

#include "evenkeel/data/json_text.h"

namespace evenkeel::data {

namespace {

/// The size of the first line in the window, without its line feed; npos at the end of the text.
std::size_t line_size(TextWindow& window) {
  std::size_t searched = 0;
  for (;;) {
    const auto view = window.view();
    const auto end = view.find('\n', searched);
    if (end != std::string_view::npos) return end;
    searched = view.size();
    if (!window.grow()) return searched > 0 ? searched : std::string_view::npos;
  }
}

}  // namespace

void read_json_lines(TextWindow& window, const std::string& key,
                     const std::function<void(std::string_view document)>& use) {
  JsonText parser(key);
  for (std::int64_t number = 1;; ++number) {
    const auto size = line_size(window);
    if (size == std::string_view::npos) return;
    const auto line = window.view().substr(0, size);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const JsonPlace place = {.path = window.path(), .number = number, .offset = window.offset()};
      const auto found = parser.find(line, place);
      if (!found.empty()) use(found);
    }
    window.consume(std::min(size + 1, window.view().size()));
  }
}

}  // namespace evenkeel::data
