// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/table_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/config/length.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

constexpr std::string_view kWantedStrings = "a string or a list of strings, none of them empty";

/// The bound that the node violates; the lower bound if the node is no integer.
std::string wanted(const IntegerRange& range, const toml::node& node) {
  const bool too_big = node.value_exact<std::int64_t>().value_or(range.least) > range.most;
  return too_big ? text("an integer <= ", range.most) : text("an integer >= ", range.least);
}

bool holds(const IntegerRange& range, const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  return value && *value >= range.least && *value <= range.most;
}

/// True if the number is 0 or a normal float32.
bool fits_in_float32(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max() &&
         (value == 0 || std::isnormal(static_cast<float>(value)));
}

/// A number in the range that fits in float32; integers count as numbers.
bool holds(const NumberRange& range, const toml::node& node) {
  if (!node.is_number()) return false;
  const auto value = node.value_or(0.0);
  return fits_in_float32(value) && range.holds(value);
}

/// The condition that the node violates: the range, or float32 if the number is in the range.
std::string wanted(const NumberRange& range, const toml::node& node) {
  const bool in_range = node.is_number() && range.holds(node.value_or(0.0));
  return text(range.wanted, in_range ? " that fits in float32 (1.2e-38 to 3.4e38)" : "");
}

}  // namespace

std::string place(const toml::node& node) {
  return node.source().path ? position_text(*node.source().path, node.source().begin.line) : "";
}

std::string description(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (const auto* const list = node.as_array()) {
    if (list->empty()) return "an empty list";
    const bool is_short =
        list->size() <= 4 && std::all_of(list->begin(), list->end(),
                                         [](const toml::node& each) { return each.is_value(); });
    return is_short ? "the list " + toml_text(node) : "a list";
  }
  return (node.is_string() ? "the string " : "") + toml_text(node);
}

const toml::node* TableReader::node(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return table_->get(key);
}

bool TableReader::flag(std::string_view key, bool fallback) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (!at->is_boolean()) refuse(key, "true or false", *at);
  return at->value_or(fallback);
}

std::int64_t TableReader::integer(std::string_view key, std::int64_t fallback, IntegerRange range) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (!holds(range, *at)) refuse(key, wanted(range, *at), *at);
  return at->value_or(fallback);
}

std::int64_t TableReader::integer_or(std::string_view word, std::string_view key,
                                     std::int64_t fallback, IntegerRange range) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (at->value_exact<std::string_view>() == word) return 0;
  if (!holds(range, *at)) refuse(key, text(wanted(range, *at), " or ", in_quotes(word)), *at);
  return at->value_or(fallback);
}

std::int64_t TableReader::tokens(std::string_view key, std::int64_t fallback) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (holds(IntegerRange{1}, *at)) return at->value_or(fallback);
  const auto length = parse_length(at->value_exact<std::string>().value_or(""));
  if (!length || length->unit != Length::Unit::tokens || length->amount < 1) {
    refuse(key, "an integer >= 1 or tokens as \"100Mt\"", *at);
  }
  return static_cast<std::int64_t>(length->amount);
}

double TableReader::number(std::string_view key, double fallback, const NumberRange& range) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (!holds(range, *at)) refuse(key, wanted(range, *at), *at);
  return at->value_or(fallback);
}

std::array<double, 2> TableReader::pair(std::string_view key, std::array<double, 2> fallback,
                                        const NumberRange& range) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  const auto* const list = at->as_array();
  if (list == nullptr || list->size() != 2) {
    refuse(key, text("a list of 2, each ", range.wanted), *at);
  }
  std::array<double, 2> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& each = *list->get(i);
    if (!holds(range, each)) refuse(text(key, "[", i, "]"), wanted(range, each), each);
    out.at(i) = each.value_or(0.0);
  }
  return out;
}

Length TableReader::length(std::string_view key, const Length& fallback) {
  constexpr IntegerRange kSteps = {0, 1'000'000'000'000};
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (holds(kSteps, *at)) return {at->value_or(0.0), Length::Unit::steps};
  const auto length = parse_length(at->value_exact<std::string>().value_or(""));
  if (!length) refuse(key, "steps (an integer >= 0), tokens as \"100Mt\" or a part as \"5%\"", *at);
  return *length;
}

std::string TableReader::string(std::string_view key, std::string fallback) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  if (!at->is_string()) refuse(key, "a string", *at);
  return at->value_or(std::string());
}

std::string TableReader::word(std::string_view key, std::string fallback,
                              const std::vector<std::string>& choices) {
  auto word = string(key, std::move(fallback));
  check_word(key, word, choices);
  return word;
}

std::vector<std::string> TableReader::words(std::string_view key, std::vector<std::string> fallback,
                                            const std::vector<std::string>& choices) {
  auto words = strings(key, std::move(fallback));
  for (const auto& word : words) check_word(key, word, choices);
  return words;
}

void TableReader::check_word(std::string_view key, const std::string& word,
                             const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return;
  throw Error(Exit::usage, text(place(*node(key)), full_name(key), ": unknown word ",
                                in_quotes(word), did_you_mean(word, choices)));
}

std::vector<std::int64_t> TableReader::integers(std::string_view key,
                                                std::vector<std::int64_t> fallback,
                                                IntegerRange range) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  const auto* const list = at->as_array();
  if (list == nullptr) refuse(key, "a list of integers", *at);
  std::vector<std::int64_t> out;
  for (const auto& each : *list) {
    if (!holds(range, each)) refuse(text(key, "[", out.size(), "]"), wanted(range, each), each);
    out.push_back(each.value_or(std::int64_t{0}));
  }
  return out;
}

std::vector<std::string> TableReader::strings(std::string_view key,
                                              std::vector<std::string> fallback) {
  const auto* const at = node(key);
  if (at == nullptr) return fallback;
  std::vector<std::string> out;
  const auto add = [&](const toml::node& each) {
    const auto value = each.value_exact<std::string>();
    if (!value || value->empty()) refuse(key, kWantedStrings, each);
    out.push_back(*value);
  };
  const auto* const list = at->as_array();
  if (list == nullptr) {
    add(*at);
    return out;
  }
  if (list->empty()) refuse(key, kWantedStrings, *at);
  for (const auto& each : *list) add(each);
  return out;
}

TableReader TableReader::section(std::string_view key) {
  static const toml::table kEmpty;
  const auto* const at = node(key);
  if (at == nullptr) return {kEmpty, full_name(key)};
  if (!at->is_table()) refuse(key, "a table", *at);
  return {*at->as_table(), full_name(key)};
}

void TableReader::refuse_unknown_keys() const {
  for (const auto& [key, each] : *table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    throw Error(Exit::usage, text(place(each), full_name(key_text(key.str())), ": unknown key",
                                  did_you_mean(key.str(), known_)));
  }
}

void TableReader::refuse(std::string_view key, std::string_view wanted,
                         const toml::node& node) const {
  throw Error(Exit::usage, text(place(node), full_name(key), " must be ", wanted, ", but is ",
                                description(node)));
}

std::string TableReader::full_name(std::string_view key) const {
  return name_.empty() ? std::string(key) : text(name_, ".", key);
}

}  // namespace evenkeel::config
