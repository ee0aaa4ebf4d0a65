// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/scheme/scheme_value.h"
#include "evenkeel/norm/warnings.h"

namespace evenkeel::config {

namespace {

void read_equation(const toml::node& node, const Place& place, norm::SchemeInfo& info) {
  const auto& table = read_table(node, place);
  check_keys(table, {"attention", "feed_forward", "other"}, place);
  const auto read = [&](const char* key) {
    const auto* const line = table.get(key);
    return line == nullptr ? std::string() : read_word(*line, place.in(key));
  };
  info.equation_attention = read("attention");
  info.equation_feed_forward = read("feed_forward");
  info.equation_other = read("other");
}

}  // namespace

norm::SchemeInfo scheme_info(const SchemeSource& source) {
  const Place top{source.name, ""};
  const auto read = [&](const char* key) {
    const auto* const node = table_of(source).get(key);
    return node == nullptr ? std::string() : read_word(*node, top.in(key));
  };
  norm::SchemeInfo info;
  info.name = source.name;
  info.title = read("title");
  info.family = read("family");
  info.source = read("source");
  info.note = read("note");
  if (const auto* const node = table_of(source).get("equation")) {
    read_equation(*node, top.in("equation"), info);
  }
  if (const auto* const node = table_of(source).get("warnings")) {
    info.warnings = read_list_of_words(*node, top.in("warnings"));
    for (const auto& code : info.warnings) {
      check_choice(code, norm::warning_codes(), *node, top.in("warnings"));
    }
  }
  return info;
}

}  // namespace evenkeel::config
