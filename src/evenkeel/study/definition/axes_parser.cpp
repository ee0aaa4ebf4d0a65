// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/axes_parser.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::study {

namespace {

using config::place;

/// Adds leaf_settings() of a table whose name is `prefix`.
void flatten(const toml::table& table, const std::string& prefix,
             std::vector<std::string>& settings) {
  for (const auto& [key, node] : table) {
    const auto name = prefix + config::key_text(key.str());
    const auto* const inner = node.as_table();
    if (inner != nullptr && name != "scheme") {
      flatten(*inner, name + ".", settings);
    } else {
      settings.push_back(text(name, '=', config::toml_text(node)));
    }
  }
}

std::string label_of(const toml::node& node) {
  if (const auto word = node.value_exact<std::string>()) return *word;
  return config::toml_text(node);
}

/// A value of an axis: a plain value sets the axis' own key, a table sets the keys that it names.
AxisValue value_of(const std::string& axis, const toml::node& node) {
  const auto* const table = node.as_table();
  if (table == nullptr) return {label_of(node), {text(axis, '=', config::toml_text(node))}};
  auto keys = *table;
  const auto* const name = keys.get("name");
  if (name == nullptr || !name->is_string() || name->value_or(std::string()).empty()) {
    throw Error(Exit::usage, text(place(node), "a value of grid.", axis,
                                  " that is a table must have a name: { name = \"...\", KEY = "
                                  "VALUE, ... }"));
  }
  AxisValue value{name->value_or(std::string()), {}};
  keys.erase("name");
  flatten(keys, "", value.settings);
  return value;
}

/// \param where  the begin of the message
/// \throws Error (usage) for more than kMaxArms arms
void check_arms(double arms, const std::string& where) {
  constexpr double kExact = 1e15;
  if (arms <= static_cast<double>(kMaxArms)) return;
  throw Error(
      Exit::usage,
      text(where, "the grid must have at most ", with_commas(kMaxArms), " arms, but has ",
           arms < kExact ? with_commas(static_cast<std::int64_t>(arms)) : with_digits(arms, 3),
           "; split the study"));
}

/// Refuses a scheme file that the axis `scheme` has already, by whichever path.
/// \param files  the files of the axis so far, and their paths as they are written; the new one is
///               added
void check_scheme_file(const std::string& axis, const toml::node& node,
                       std::map<std::filesystem::path, std::string>& files) {
  const auto path = node.value_exact<std::string>();
  if (axis != "scheme" || !path || !path->ends_with(".toml")) return;
  std::error_code none;
  const auto file = std::filesystem::weakly_canonical(*path, none);
  const auto [known, is_new] = files.try_emplace(none ? std::filesystem::path(*path) : file, *path);
  if (is_new) return;
  throw Error(Exit::usage, text(place(node), "grid.scheme has one file twice, as \"", known->second,
                                "\" and as \"", *path, "\"; leave one out"));
}

/// An axis from its list of values. Numbers are compared as numbers: 1e-3 and 0.001 are one value;
/// so are two paths of one scheme file.
/// \throws Error (usage) for an empty list, more than kMaxArms values or a repeated value
Axis axis_of(const std::string& name, const toml::node& node) {
  const auto* const list = node.as_array();
  if (list == nullptr || list->empty()) {
    throw Error(Exit::usage,
                text(place(node), "grid.", name, " must be a list of at least one value, but is ",
                     config::description(node)));
  }
  check_arms(static_cast<double>(list->size()), place(node));
  Axis axis{name, {}};
  std::set<std::string> labels;
  std::set<double> numbers;
  std::map<std::filesystem::path, std::string> files;
  for (const auto& each : *list) {
    auto value = value_of(name, each);
    const auto number = number_of(value.label);
    const bool is_ordered = number && !std::isnan(*number);
    if (!labels.insert(value.label).second || (is_ordered && !numbers.insert(*number).second)) {
      throw Error(Exit::usage, text(place(each), "grid.", name, " has \"", value.label,
                                    "\" twice; leave one out"));
    }
    check_scheme_file(name, each, files);
    axis.values.push_back(std::move(value));
  }
  return axis;
}

/// Adds the axes of [grid]; a nested table is a dotted key: `model.layers = [4, 8]`.
/// \throws Error (usage) for an axis `seed`
void add_axes(const toml::table& grid, const std::string& prefix, std::vector<Axis>& axes) {
  for (const auto& [key, node] : grid) {
    const auto name = prefix + config::key_text(key.str());
    if (name == "seed") {
      throw Error(Exit::usage, text(place(node),
                                    "the seeds of a study are a key above [grid]: "
                                    "seeds = [1, 2, 3]"));
    }
    if (const auto* const inner = node.as_table()) {
      add_axes(*inner, name + ".", axes);
    } else {
      axes.push_back(axis_of(name, node));
    }
  }
}

/// The scheme is what a study is about; axes of several keys come next.
void sort_axes(std::vector<Axis>& axes) {
  const auto rank = [](const Axis& axis) {
    if (axis.name == "scheme") return 0;
    return axis.name.find('.') == std::string::npos ? 1 : 2;
  };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const Axis& left, const Axis& right) { return rank(left) < rank(right); });
}

}  // namespace

std::vector<std::string> leaf_settings(const toml::table& table) {
  std::vector<std::string> settings;
  flatten(table, "", settings);
  return settings;
}

std::vector<Axis> parse_axes(const toml::table& grid, const std::string& where) {
  std::vector<Axis> axes;
  add_axes(grid, "", axes);
  double arms = 1;
  for (const auto& axis : axes) arms *= static_cast<double>(axis.values.size());
  check_arms(arms, where + ": ");
  sort_axes(axes);
  return axes;
}

}  // namespace evenkeel::study
