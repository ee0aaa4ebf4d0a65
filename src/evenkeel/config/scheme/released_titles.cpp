// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/released_titles.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/table_reader.h"

namespace evenkeel::config {

/// Made from released_titles.toml by cmake/Embed.cmake.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_titles();

namespace {

/// The scheme of the catalogue that has this title now; "" if none has.
std::string scheme_titled(const std::string& title) {
  static const auto kSchemes = [] {
    std::map<std::string, std::string> schemes;
    for (const auto& name : catalogue()) {
      schemes.emplace(scheme_info(find_scheme(name)).title, name);
    }
    return schemes;
  }();
  const auto found = kSchemes.find(title);
  return found == kSchemes.end() ? "" : found->second;
}

/// The text of version 0.1.0; nullptr if released_titles.toml has none.
const toml::node* released_text(const std::string& scheme, std::string_view key) {
  static const auto kReleased = parse_toml(embedded_titles().front().second, "");
  return kReleased[scheme][key].node();
}

/// Sets a text of the table to that of version 0.1.0, or removes it if there was none.
void release_text(toml::table& table, const std::string& scheme, std::string_view key) {
  table.erase(key);
  if (const auto* const text = released_text(scheme, key)) table.insert(key, *text);
}

}  // namespace

SchemeSource with_released_titles(const SchemeSource& scheme) {
  auto table = table_of(scheme);
  if (is_of_catalogue(scheme)) {
    release_text(table, scheme.name, "title");
    release_text(table, scheme.name, "note");
    for (const std::string_view key : {"source", "equation"}) {
      if (released_text(scheme.name, key) != nullptr) release_text(table, scheme.name, key);
    }
  } else if (const auto parent = scheme_titled(table["title"].value_or(std::string()));
             !parent.empty()) {
    release_text(table, parent, "title");
    const auto own = table.get_as<toml::table>("equation");
    const auto of_parent = table_of(find_scheme(parent));
    const auto theirs = of_parent.get_as<toml::table>("equation");
    const bool is_inherited = own != nullptr && theirs != nullptr && *own == *theirs;
    if (is_inherited && released_text(parent, "equation") != nullptr) {
      release_text(table, parent, "equation");
    }
  }
  return make_source(scheme.name, std::move(table));
}

}  // namespace evenkeel::config
