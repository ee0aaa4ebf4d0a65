// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Reads single TOML values of a scheme. Every message names the place. This header includes
/// toml++.
namespace evenkeel::config {

/// The place of a value in a scheme, for messages.
struct Place {
  std::string scheme;  // name of the scheme
  std::string path;    // "attention.input"; empty at the top level

  /// The place of `key` in this table.
  Place in(std::string_view key) const;
};

/// The prefix of a message: "mine.toml:7, attention.input", or "scheme mine, attention.input" if
/// the node has no source position.
std::string where(const Place& place, const toml::node& node);

/// Throws SchemeError `code` at the place of the node.
[[noreturn]] void refuse(const std::string& code, const Place& place, const toml::node& node,
                         const std::string& explanation);

/// Refuses keys that are not in `known`.
/// \throws SchemeError unknown_key, with the nearest known key
void check_keys(const toml::table& table, const std::vector<std::string>& known,
                const Place& place);

/// The value of a node. These functions throw SchemeError bad_value for another type.
bool read_flag(const toml::node& node, const Place& place);
std::string read_word(const toml::node& node, const Place& place);
std::vector<std::string> read_list_of_words(const toml::node& node, const Place& place);
const toml::table& read_table(const toml::node& node, const Place& place);
std::vector<const toml::table*> read_list_of_tables(const toml::node& node, const Place& place);

/// Reads a number, or an expression in quotes.
norm::Expression read_expression(const toml::node& node, const Place& place);

/// Reads a number or an expression in quotes, and evaluates it with the variables `sizes`.
/// \throws SchemeError bad_value if the value is not > 0
double read_positive(const toml::node& node, const Place& place, const norm::Variables& sizes);

/// Refuses a word that is not in `choices`.
/// \throws SchemeError bad_value, with the nearest choice
void check_choice(const std::string& word, const std::vector<std::string>& choices,
                  const toml::node& node, const Place& place);

/// The enumerator of a word: `read_choice<Scope>(node, place, {{"token", Scope::token}, ...})`.
/// \throws SchemeError bad_value as check_choice()
template <typename T>
T read_choice(const toml::node& node, const Place& place,
              const std::vector<std::pair<std::string, T>>& choices) {
  const auto word = read_word(node, place);
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  check_choice(word, names, node, place);
  return choices.front().second;
}

/// True if the node is the word "none", which removes an inherited norm or rule.
bool is_none(const toml::node& node);

}  // namespace evenkeel::config
