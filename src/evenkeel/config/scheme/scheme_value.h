// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Single values of a scheme, each with its place in every message.
namespace evenkeel::config {

/// Where a value stands in a scheme.
struct Place {
  std::string scheme;  // its name
  std::string path;    // "attention.input"; empty at the top

  Place in(std::string_view key) const;
};

/// "mine.toml:7, attention.input", or "scheme mine, attention.input" of a node without a file.
std::string where(const Place& place, const toml::node& node);

[[noreturn]] void refuse(const std::string& code, const Place& place, const toml::node& node,
                         const std::string& explanation);

/// \throws SchemeError unknown_key with the nearest of the known keys
void check_keys(const toml::table& table, const std::vector<std::string>& known,
                const Place& place);

/// The following throw SchemeError bad_value if the node has another type.
bool read_flag(const toml::node& node, const Place& place);
std::string read_word(const toml::node& node, const Place& place);
std::vector<std::string> read_list_of_words(const toml::node& node, const Place& place);
const toml::table& read_table(const toml::node& node, const Place& place);
std::vector<const toml::table*> read_list_of_tables(const toml::node& node, const Place& place);

/// A number, or an expression in quotes.
norm::Expression read_expression(const toml::node& node, const Place& place);

/// The same, computed at once.
/// \throws SchemeError bad_value if it is not > 0
double read_positive(const toml::node& node, const Place& place, const norm::Variables& sizes);

/// Refuses a word outside the choices.
void check_choice(const std::string& word, const std::vector<std::string>& choices,
                  const toml::node& node, const Place& place);

/// A word that stands for a value: `read_choice<Scope>(node, place, {{"token", Scope::token},
/// ...})`.
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

/// Is this the word that empties a slot or drops a rule?
bool is_none(const toml::node& node);

}  // namespace evenkeel::config
