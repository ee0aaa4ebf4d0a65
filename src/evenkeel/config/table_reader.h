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
#include "evenkeel/config/toml_parser.h"

/// Strict reading of TOML: each key has a type and a range, and an unknown key is an error. This
/// header includes toml++.
namespace evenkeel::config {

/// The source position of a node as a message prefix: "mine.toml:3: ", "--set train.steps=5: ";
/// empty if the node has none.
std::string place(const toml::node& node);

/// A description of a node for "but is ..." in messages: `5`, `the string "many"`, `a list`, `a
/// table`.
std::string description(const toml::node& node);

/// The valid integers: least <= value <= most.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// The valid numbers. Values beyond the range of float32, and its denormals, are always invalid.
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

/// Reads a table key by key. A getter returns the value of `key`, or `fallback` if the key is
/// missing. It throws Error (usage, exit code 64) for another type or a value out of range.
class TableReader {
 public:
  /// \param name  dotted name of the table: "train"; empty for the top level
  TableReader(const toml::table& table, std::string name)
      : table_(&table), name_(std::move(name)) {}

  /// The node at `key`, or nullptr if it is missing. Also adds `key` to the known keys of the
  /// table.
  const toml::node* node(std::string_view key);

  bool flag(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback, IntegerRange range);
  /// An integer in the range, or `word`, which means 0.
  std::int64_t integer_or(std::string_view word, std::string_view key, std::int64_t fallback,
                          IntegerRange range);
  /// A number of tokens: an integer > 0, or a string such as "100Mt".
  std::int64_t tokens(std::string_view key, std::int64_t fallback);
  double number(std::string_view key, double fallback, const NumberRange& range);
  /// A list of two numbers in the range.
  std::array<double, 2> pair(std::string_view key, std::array<double, 2> fallback,
                             const NumberRange& range);
  /// Steps as an integer, or tokens or percent as a string: "100Mt", "5%".
  Length length(std::string_view key, const Length& fallback);
  std::string string(std::string_view key, std::string fallback);
  /// A string out of `choices`.
  std::string word(std::string_view key, std::string fallback,
                   const std::vector<std::string>& choices);
  /// A string or a non-empty list of strings out of `choices`.
  std::vector<std::string> words(std::string_view key, std::vector<std::string> fallback,
                                 const std::vector<std::string>& choices);
  /// A list of integers in the range; it may be empty.
  std::vector<std::int64_t> integers(std::string_view key, std::vector<std::int64_t> fallback,
                                     IntegerRange range);
  /// A string or a non-empty list of strings; none of them is empty.
  std::vector<std::string> strings(std::string_view key, std::vector<std::string> fallback);

  /// The table at `key`; an empty table if it is missing.
  TableReader section(std::string_view key);

  /// Refuses all keys that no getter has read.
  /// \throws Error (usage, exit code 64) for the first such key, with the nearest and all known
  ///         keys
  void refuse_unknown_keys() const;

  /// Throws Error (usage): "mine.toml:3: train.steps must be `wanted`, but is ..."
  [[noreturn]] void refuse(std::string_view key, std::string_view wanted,
                           const toml::node& node) const;

  /// The dotted name of a key: "train.steps".
  std::string full_name(std::string_view key) const;

 private:
  void check_word(std::string_view key, const std::string& word,
                  const std::vector<std::string>& choices);

  const toml::table* table_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace evenkeel::config
