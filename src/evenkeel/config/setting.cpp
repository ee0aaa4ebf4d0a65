// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/setting.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

constexpr const char* kValue = "value";

/// Splits "a.b.c" at the dots. The parts must be bare keys.
std::vector<std::string> path_of(std::string_view key, const std::string& source) {
  std::vector<std::string> path;
  for (std::size_t begin = 0; begin <= key.size();) {
    const auto end = std::min(key.find('.', begin), key.size());
    path.emplace_back(key.substr(begin, end - begin));
    begin = end + 1;
    if (key_text(path.back()) == path.back()) continue;
    throw Error(Exit::usage, text(source, ": the key must be words joined by dots, but is ",
                                  in_quotes(key), "; write --set train.steps=2000"));
  }
  if (path.size() > kMaxDepth) {
    throw Error(Exit::usage,
                text("--set ", path.front(), "...: a key must have at most ", kMaxDepth,
                     " parts, but has ", path.size(), "; docs/configuration.md lists the keys"));
  }
  return path;
}

toml::table value_of(std::string_view value, const std::string& source) {
  constexpr std::string_view kMarks = "\"'[{";
  const auto toml = text(kValue, " = ", value);
  if (!value.empty() && kMarks.find(value.front()) != std::string_view::npos) {
    return parse_toml(toml, source);
  }
  auto parsed = read_toml(toml, source);
  if (parsed.defect.empty()) return std::move(parsed.table);
  return parse_toml(text(kValue, " = ", in_quotes(value)), source);  // an unquoted string
}

}  // namespace

std::string_view key_of_setting(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

Setting parse_setting(const std::string& setting) {
  const auto is_control = [](char letter) {
    return static_cast<unsigned char>(letter) < ' ' && letter != '\t';
  };
  if (std::any_of(setting.begin(), setting.end(), is_control)) {
    throw Error(Exit::usage, text("--set ", in_quotes(setting), ": a setting is one line of text"));
  }
  const auto source = "--set " + setting;
  const auto key = key_of_setting(setting);
  if (key.size() == setting.size()) {
    throw Error(Exit::usage, text(source, ": a value is missing; write --set ", setting, "=VALUE"));
  }
  return {path_of(key, source), value_of(setting.substr(key.size() + 1), source)};
}

void apply(Setting setting, toml::table& tree) {
  auto* table = &tree;
  std::string name;
  auto& value = *setting.value.get(kValue);
  for (std::size_t i = 0; i + 1 < setting.path.size(); ++i) {
    name += (i == 0 ? "" : ".") + setting.path[i];
    table->emplace<toml::table>(setting.path[i]);
    auto& next = *table->get(setting.path[i]);
    if (!next.is_table()) {
      throw Error(Exit::usage, text(place(value), name, " must be a table to hold ",
                                    setting.path[i + 1], ", but is ", description(next)));
    }
    table = next.as_table();
  }
  table->insert_or_assign(setting.path.back(), std::move(value));
}

}  // namespace evenkeel::config
