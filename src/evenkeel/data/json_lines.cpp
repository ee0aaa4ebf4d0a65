// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <cstdint>

#include "evenkeel/data/json_text.h"

namespace evenkeel::data {

void read_json_lines(TextWindow& window, const std::string& key,
                     const std::function<void(std::string_view document)>& use) {
  JsonText parser(key);
  for (std::int64_t number = 1;; ++number) {
    const auto line = window.line();
    if (!line) return;
    if (line->find_first_not_of(" \t\r") != std::string_view::npos) {
      const JsonPlace place = {.path = window.path(), .number = number, .offset = window.offset()};
      const auto found = parser.find(*line, place);
      if (!found.empty()) use(found);
    }
    window.consume_line(line->size());
  }
}

}  // namespace evenkeel::data
