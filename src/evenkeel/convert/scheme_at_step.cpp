// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/scheme_at_step.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme_table.h"

namespace evenkeel::convert {

namespace {

// Keys whose texts are for people, or are no part of the forward pass.
constexpr std::array<std::string_view, 8> kTexts = {
    "title", "family", "source", "note", "equation", "warnings", "norm_parameters", "kind"};

/// True if the text is an expression with t or T.
bool depends_on_step(const std::string& formula) {
  try {
    const auto names = norm::Expression::parse(formula).names();
    return names.contains("t") || names.contains("T");
  } catch (const Error&) {
    return false;  // a word
  }
}

/// The formula with numbers in place of the words t and T.
std::string with_numbers(const std::string& formula, const norm::Steps& steps) {
  std::string out;
  const auto is_letter = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
  };
  for (std::size_t at = 0; at < formula.size();) {
    auto end = at;
    while (end < formula.size() && is_letter(formula[end])) ++end;
    const auto word = formula.substr(at, end - at);
    if (word == "t") {
      out += std::to_string(steps.done);
    } else if (word == "T") {
      out += std::to_string(steps.planned);
    } else {
      out += word.empty() ? formula.substr(at, 1) : word;
    }
    at = std::max(end, at + 1);
  }
  return out;
}

/// Replaces the strings below a node. \return true if there was one
template <typename Node>
bool replace_in(Node&& node, const norm::Steps& steps) {
  bool changed = false;
  if (auto* const value = node.as_string()) {
    if (!depends_on_step(value->get())) return false;
    *value = with_numbers(value->get(), steps);
    return true;
  }
  if (auto* const table = node.as_table()) {
    for (auto&& [key, each] : *table) {
      if (std::find(kTexts.begin(), kTexts.end(), key.str()) != kTexts.end()) continue;
      changed = replace_in(each, steps) || changed;
    }
  }
  if (auto* const list = node.as_array()) {
    for (auto& each : *list) changed = replace_in(each, steps) || changed;
  }
  return changed;
}

}  // namespace

config::SchemeSource scheme_at_step(const config::SchemeSource& scheme, const norm::Steps& steps) {
  auto table = config::table_of(scheme);
  if (!replace_in(static_cast<toml::node&>(table), steps)) return scheme;
  return config::make_source(scheme.name + "+own", std::move(table));
}

}  // namespace evenkeel::convert
