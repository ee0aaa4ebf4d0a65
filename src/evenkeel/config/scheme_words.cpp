// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme.h"
#include "evenkeel/config/scheme_value.h"
#include "evenkeel/norm/warnings.h"

namespace evenkeel::config {

namespace {

void read_equation(const toml::node& node, const Place& place, norm::Words& words) {
  const auto& table = read_table(node, place);
  check_keys(table, {"attention", "feed_forward", "other"}, place);
  const auto read = [&](const char* key) {
    const auto* const line = table.get(key);
    return line == nullptr ? std::string() : read_word(*line, place.in(key));
  };
  words.equation_attention = read("attention");
  words.equation_feed_forward = read("feed_forward");
  words.equation_other = read("other");
}

}  // namespace

norm::Words words_of(const SchemeSource& source) {
  const Place top{source.name, ""};
  const auto read = [&](const char* key) {
    const auto* const node = source.merged.get(key);
    return node == nullptr ? std::string() : read_word(*node, top.in(key));
  };
  norm::Words words;
  words.name = source.name;
  words.title = read("title");
  words.family = read("family");
  words.source = read("source");
  words.note = read("note");
  if (const auto* const node = source.merged.get("equation")) {
    read_equation(*node, top.in("equation"), words);
  }
  if (const auto* const node = source.merged.get("warnings")) {
    words.warnings = read_list_of_words(*node, top.in("warnings"));
    for (const auto& code : words.warnings) {
      check_choice(code, norm::warning_codes(), *node, top.in("warnings"));
    }
  }
  return words;
}

}  // namespace evenkeel::config
