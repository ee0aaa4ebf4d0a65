// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/length.h"

/// Strict reading of TOML: each key has a type and a range, and a key that no getter asked for is
/// an error. This header includes toml++.
namespace evenkeel::config {

/// The source of a node as the start of a message: "mine.toml:3: ", "--set train.steps=5: "; empty
/// for a node without a source.
std::string place(const toml::node& node);

/// A node in words, for messages with "but is ...": `5`, `the string "many"`, `a list`, `a table`.
std::string description(const toml::node& node);

/// Parses a whole TOML text.
/// \param source  the file or option; every node keeps it with its line. Empty: nodes have no
/// source
/// \throws Error (usage): "mine.toml:3: not TOML: ..."
toml::table parse_toml(std::string_view toml, const std::string& source);

/// The allowed integers, ends included.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// The allowed numbers. Numbers beyond the largest float32 and denormals are always refused.
struct NumberRange {
  std::string_view wanted;  // in messages: "a number > 0"
  bool (*holds)(double);
};
inline constexpr NumberRange kPositive = {"a number > 0", [](double x) { return x > 0; }};
inline constexpr NumberRange kNotNegative = {"a number >= 0", [](double x) { return x >= 0; }};
inline constexpr NumberRange kFromZeroToOne = {"a number in [0, 1]",
                                               [](double x) { return 0 <= x && x <= 1; }};
inline constexpr NumberRange kBelowOne = {"a number in [0, 1)",
                                          [](double x) { return 0 <= x && x < 1; }};
inline constexpr NumberRange kBetweenZeroAndOne = {"a number in (0, 1)",
                                                   [](double x) { return 0 < x && x < 1; }};

/// Reads one table key by key. A getter returns the value of `key`, or `fallback` if the key is
/// absent. It throws Error (usage) for another type or a value outside of the range.
class TableReader {
 public:
  /// \param name  the dotted name of the table, "train"; empty for the whole file
  TableReader(const toml::table& table, std::string name)
      : table_(&table), name_(std::move(name)) {}

  /// The node at `key`, or nullptr. `key` is a known key of the table from now on.
  const toml::node* node(std::string_view key);

  bool flag(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback, IntegerRange range);
  /// An integer of the range, or the word `word`, which means 0.
  std::int64_t integer_or(std::string_view word, std::string_view key, std::int64_t fallback,
                          IntegerRange range);
  /// Tokens: an integer > 0, or text such as "100Mt".
  std::int64_t tokens(std::string_view key, std::int64_t fallback);
  double number(std::string_view key, double fallback, const NumberRange& range);
  /// A list of two numbers of the range.
  std::array<double, 2> pair(std::string_view key, std::array<double, 2> fallback,
                             const NumberRange& range);
  /// Steps as an integer, or tokens or percent as text: "100Mt", "5%".
  Length length(std::string_view key, const Length& fallback);
  std::string string(std::string_view key, std::string fallback);
  /// A string that is one of the choices.
  std::string word(std::string_view key, std::string fallback,
                   const std::vector<std::string>& choices);
  /// One word or a list of at least one word, each one of the choices.
  std::vector<std::string> words(std::string_view key, std::vector<std::string> fallback,
                                 const std::vector<std::string>& choices);
  /// A list of integers of the range, which may be empty.
  std::vector<std::int64_t> integers(std::string_view key, std::vector<std::int64_t> fallback,
                                     IntegerRange range);
  /// One string or a list of at least one, none of them empty.
  std::vector<std::string> strings(std::string_view key, std::vector<std::string> fallback);

  /// The table at `key`; an empty one if it is absent.
  TableReader section(std::string_view key);

  /// Refuses keys of the table that no getter asked for.
  /// \throws Error (usage) at the first such key, with the nearest and all known keys
  void refuse_unknown_keys() const;

  /// Throws Error (usage): "mine.toml:3: train.steps must be `wanted`, but is ..."
  [[noreturn]] void refuse(std::string_view key, std::string_view wanted,
                           const toml::node& node) const;

  /// The key with its table: "train.steps".
  std::string full_name(std::string_view key) const;

 private:
  void check_word(std::string_view key, const std::string& word,
                  const std::vector<std::string>& choices);

  const toml::table* table_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace evenkeel::config
