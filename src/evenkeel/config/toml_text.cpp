// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/toml_text.h"

#include <sstream>

#include "evenkeel/base/number.h"

namespace evenkeel::config {

namespace {

std::string toml_text_list_text(const toml::array& list) {
  std::string out;
  for (const auto& each : list) out += (out.empty() ? "" : ", ") + toml_text(each);
  return "[" + out + "]";
}

std::string table_text(const toml::table& table) {
  std::string out;
  for (const auto& [key, node] : table) {
    out += (out.empty() ? "" : ", ") + key_text(key.str()) + " = " + toml_text(node);
  }
  return out.empty() ? "{}" : "{ " + out + " }";
}

}  // namespace

std::string toml_text(const toml::node& node) {
  if (const auto* const table = node.as_table()) return table_text(*table);
  if (const auto* const list = node.as_array()) return toml_text_list_text(*list);
  if (const auto* const string = node.as_string()) return in_quotes(string->get());
  if (const auto* const integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* const number = node.as_floating_point()) return shortest(number->get());
  if (const auto* const flag = node.as_boolean()) return flag->get() ? "true" : "false";
  std::ostringstream date;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_chronological<decltype(value)>) date << value;
  });
  return date.str();
}

}  // namespace evenkeel::config
