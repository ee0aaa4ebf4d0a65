// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_value.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/nearest.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

[[noreturn]] void refuse_type(const char* wanted, const Place& place, const toml::node& node) {
  refuse("bad_value", place, node, text("wanted ", wanted, ", but found ", description(node)));
}

const toml::array& read_array(const char* wanted, const toml::node& node, const Place& place) {
  const auto* const list = node.as_array();
  if (list == nullptr) refuse_type(wanted, place, node);
  return *list;
}

}  // namespace

Place Place::in(std::string_view key) const {
  return {scheme, path.empty() ? std::string(key) : text(path, ".", key)};
}

std::string where(const Place& place, const toml::node& node) {
  const auto& source = node.source();
  const auto start =
      source.path ? text(*source.path, ":", source.begin.line) : text("scheme ", place.scheme);
  return place.path.empty() ? start : text(start, ", ", place.path);
}

void refuse(const std::string& code, const Place& place, const toml::node& node,
            const std::string& explanation) {
  throw norm::SchemeError(code, where(place, node), explanation);
}

void check_keys(const toml::table& table, const std::vector<std::string>& known,
                const Place& place) {
  for (const auto& [key, node] : table) {
    if (std::count(known.begin(), known.end(), key.str()) > 0) continue;
    refuse("unknown_key", place, node,
           text("there is no key \"", key.str(), "\" here", did_you_mean(key.str(), known)));
  }
}

bool read_flag(const toml::node& node, const Place& place) {
  if (!node.is_boolean()) refuse_type("true or false", place, node);
  return node.value_or(false);
}

std::string read_word(const toml::node& node, const Place& place) {
  if (!node.is_string()) refuse_type("a word in quotes", place, node);
  return node.value_or(std::string());
}

std::vector<std::string> read_list_of_words(const toml::node& node, const Place& place) {
  std::vector<std::string> words;
  for (const auto& each : read_array("a list of words in quotes", node, place)) {
    words.push_back(read_word(each, place));
  }
  return words;
}

const toml::table& read_table(const toml::node& node, const Place& place) {
  if (!node.is_table()) refuse_type("a table", place, node);
  return *node.as_table();
}

std::vector<const toml::table*> read_list_of_tables(const toml::node& node, const Place& place) {
  std::vector<const toml::table*> tables;
  for (const auto& each : read_array("a list of tables", node, place)) {
    tables.push_back(&read_table(each, place));
  }
  return tables;
}

norm::Expression read_expression(const toml::node& node, const Place& place) {
  if (node.is_number()) {
    const double number = node.value_or(0.0);
    if (!std::isfinite(number)) refuse_type("a finite number", place, node);
    return number;
  }
  if (!node.is_string()) refuse_type("a number or an expression in quotes", place, node);
  try {
    return norm::Expression::parse(node.value_or(std::string_view()));
  } catch (const norm::SchemeError& error) {
    refuse(error.code(), place, node, error.explanation());
  }
}

double read_positive(const toml::node& node, const Place& place, const norm::Variables& sizes) {
  const auto formula = read_expression(node, place);
  try {
    const double value = formula.value(sizes);
    if (value > 0) return value;
  } catch (const norm::SchemeError& error) {
    refuse(error.code(), place, node, error.explanation());
  }
  refuse("bad_value", place, node, text("wanted a number > 0, but found ", formula.formula()));
}

void check_choice(const std::string& word, const std::vector<std::string>& choices,
                  const toml::node& node, const Place& place) {
  if (std::count(choices.begin(), choices.end(), word) > 0) return;
  refuse("bad_value", place, node,
         text("\"", word, "\" is not among the choices", did_you_mean(word, choices)));
}

bool is_none(const toml::node& node) {
  return node.value_exact<std::string_view>() == "none";
}

}  // namespace evenkeel::config
