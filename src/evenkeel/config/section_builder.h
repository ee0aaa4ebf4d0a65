// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/config/table_reader.h"

namespace evenkeel::config {

inline constexpr IntegerRange kCount = {0, 1'000'000'000'000'000};
inline constexpr IntegerRange kAtLeastOne = {1, kCount.most};
inline constexpr IntegerRange kSize = {1, 1 << 24};

/// Strings as TOML: one string, or a list.
inline std::string keys_list_text(const std::vector<std::string>& list) {
  if (list.size() == 1) return in_quotes(list.front());
  std::string out;
  for (const auto& each : list) out += (out.empty() ? "" : ", ") + in_quotes(each);
  return "[" + out + "]";
}

/// Adds keys for the fields of one struct of Config. Each function reads with the TableReader
/// getter of the same name, and writes the value.
template <typename Fields>
class SectionBuilder {
 public:
  SectionBuilder(std::string_view name, std::string_view comment, Fields Config::* fields)
      : section_{name, comment, {}}, fields_(fields) {}

  void flag(std::string_view key, bool Fields::* field) {
    add(
        key, field, [key](TableReader& table, bool value) { return table.flag(key, value); },
        [](bool value) { return std::string(value ? "true" : "false"); });
  }
  void integer(std::string_view key, std::int64_t Fields::* field, IntegerRange range) {
    add(
        key, field,
        [key, range](TableReader& table, std::int64_t value) {
          return table.integer(key, value, range);
        },
        [](std::int64_t value) { return std::to_string(value); });
  }
  void integer_or(std::string_view word, std::string_view key, std::int64_t Fields::* field,
                  IntegerRange range = kSize) {
    add(
        key, field,
        [=](TableReader& table, std::int64_t value) {
          return table.integer_or(word, key, value, range);
        },
        [word](std::int64_t value) {
          return value == 0 ? in_quotes(word) : std::to_string(value);
        });
  }
  void number(std::string_view key, double Fields::* field, const NumberRange& range) {
    add(
        key, field,
        [key, range](TableReader& table, double value) { return table.number(key, value, range); },
        [](double value) { return shortest(value); });
  }
  void length(std::string_view key, Length Fields::* field) {
    add(
        key, field,
        [key](TableReader& table, const Length& value) { return table.length(key, value); },
        [](const Length& value) { return length_text(value); });
  }
  void string(std::string_view key, std::string Fields::* field) {
    add(
        key, field,
        [key](TableReader& table, const std::string& value) { return table.string(key, value); },
        [](const std::string& value) { return in_quotes(value); });
  }
  void word(std::string_view key, std::string Fields::* field, std::vector<std::string> choices) {
    add(
        key, field,
        [key, choices = std::move(choices)](TableReader& table, const std::string& value) {
          return table.word(key, value, choices);
        },
        [](const std::string& value) { return in_quotes(value); });
  }
  void strings(std::string_view key, std::vector<std::string> Fields::* field) {
    add(
        key, field,
        [key](TableReader& table, const std::vector<std::string>& value) {
          return table.strings(key, value);
        },
        [](const std::vector<std::string>& value) { return keys_list_text(value); });
  }
  void words(std::string_view key, std::vector<std::string> Fields::* field,
             std::vector<std::string> choices) {
    add(
        key, field,
        [key, choices = std::move(choices)](TableReader& table,
                                            const std::vector<std::string>& value) {
          return table.words(key, value, choices);
        },
        [](const std::vector<std::string>& value) { return keys_list_text(value); });
  }
  void integers(std::string_view key, std::vector<std::int64_t> Fields::* field,
                IntegerRange range) {
    add(
        key, field,
        [key, range](TableReader& table, const std::vector<std::int64_t>& value) {
          return table.integers(key, value, range);
        },
        [](const std::vector<std::int64_t>& value) {
          std::string out;
          for (const auto each : value) out += text(out.empty() ? "" : ", ", each);
          return "[" + out + "]";
        });
  }
  void custom(Key key) { section_.keys.push_back(std::move(key)); }

  Section section() { return std::move(section_); }

 private:
  template <typename Value, typename Read, typename Write>
  void add(std::string_view key, Value Fields::* field, const Read& read, const Write& write) {
    const auto fields = fields_;
    section_.keys.push_back({key,
                             [=](Config& config, TableReader& table) {
                               auto& value = config.*fields.*field;
                               value = read(table, value);
                             },
                             [=](const Config& config) { return write(config.*fields.*field); }});
  }

  Section section_;
  Fields Config::* fields_;
};

/// The keys of [data] and [evaluate].
Section data_section();
Section evaluate_section();

}  // namespace evenkeel::config
