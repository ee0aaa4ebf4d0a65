// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <cstdint>

namespace evenkeel::data {

std::string_view document_in_line(JsonText& parser, std::string_view line, const JsonPlace& place,
                                  bool skips_invalid) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  return skips_invalid ? parser.find_or_skip(line, place) : parser.find(line, place);
}

JsonCounts read_json_lines(TextWindow& window, const std::string& key,
                           const std::function<void(std::string_view document)>& use,
                           bool skips_invalid) {
  JsonText parser(key);
  for (std::int64_t number = 1;; ++number) {
    const auto line = window.line();
    if (!line) return parser.take_counts();
    const JsonPlace place = {.path = window.path(), .number = number, .offset = window.offset()};
    const bool is_whole = line->size() < window.view().size();
    const auto found = document_in_line(parser, *line, place, skips_invalid && is_whole);
    if (!found.empty()) use(found);
    window.consume_line(line->size());
  }
}

}  // namespace evenkeel::data
