// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_patch.h"

#include <array>
#include <cmath>
#include <optional>

#include "evenkeel/config/scheme/scheme_merge.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/norm/call.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

// A tolerance for floor(): 0.29 * 100 is slightly below 29, but must give 29 blocks.
constexpr double kRounding = 1e-9;

/// The number of whole blocks in the fraction `part` of `layers`.
double blocks_in(double part, double layers) {
  return std::floor(part * layers + kRounding);
}

/// True if `name(numbers)` selects block l of `layers`; nullopt for an unknown name or a wrong
/// count.
std::optional<bool> scheme_patch_selects(const std::string& name,
                                         const std::vector<double>& numbers, double l,
                                         double layers) {
  if (name == "first" && numbers.size() == 1) return l <= numbers[0];
  if (name == "last" && numbers.size() == 1) return l > layers - numbers[0];
  if (name == "fraction" && numbers.size() == 2) {
    return blocks_in(numbers[0], layers) < l && l <= blocks_in(numbers[1], layers);
  }
  if (name == "every" && (numbers.size() == 1 || numbers.size() == 2)) {
    const double step = std::trunc(numbers[0]);
    const double offset = numbers.size() == 2 ? std::trunc(numbers[1]) : 0;
    if (step < 1) return std::nullopt;
    return std::fmod(l - 1, step) == offset;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_where(const Place& place, const toml::node& node) {
  refuse("bad_where", place, node,
         text("wanted first(n), last(n), fraction(a, b), every(k), every(k, offset) with k >= 1, "
              "or a list of block numbers from 1, but found ",
              description(node)));
}

bool is_listed(const toml::array& list, const Place& place, std::int64_t l) {
  bool listed = false;
  for (const auto& each : list) {
    const auto number = each.value_exact<std::int64_t>();
    if (!number || *number < 1) refuse_where(place, list);
    listed = listed || *number == l;
  }
  return listed;
}

void assign(toml::table& table, const char* key, const toml::table& from) {
  if (const auto* const node = from.get(key)) table.insert_or_assign(key, *node);
}

}  // namespace

std::vector<Patch> patches_of(const toml::table& scheme, const Place& place) {
  std::vector<Patch> patches;
  const auto* const layers = scheme.get("layers");
  if (layers == nullptr) return patches;
  for (const auto* const table : read_list_of_tables(*layers, place.in("layers"))) {
    const auto at = place.in(text("layers[", patches.size(), "]"));
    check_keys(*table, {"where", "attention", "feed_forward", "damp"}, at);
    if (!table->contains("where")) refuse("bad_where", at, *table, "a patch needs \"where\"");
    patches.push_back({table, at});
  }
  return patches;
}

bool selects(const Patch& patch, std::int64_t l, const norm::Shape& shape) {
  const auto& node = *patch.table->get("where");
  const auto place = patch.place.in("where");
  if (const auto* const list = node.as_array()) return is_listed(*list, place, l);
  if (!node.is_string()) refuse_where(place, node);
  try {
    const auto call = norm::parse_call(node.value_or(std::string_view()));
    if (!call) refuse_where(place, node);
    std::vector<double> numbers;
    for (const auto& each : call->arguments) numbers.push_back(each.value(fixed_variables(shape)));
    const auto selected = scheme_patch_selects(call->name, numbers, static_cast<double>(l),
                                               static_cast<double>(shape.layers));
    if (!selected) refuse_where(place, node);
    return *selected;
  } catch (const norm::SchemeError& error) {
    refuse(error.code(), place, node, error.explanation());
  }
}

toml::table block_table(const toml::table& scheme, const std::vector<Patch>& patches,
                        std::int64_t l, const norm::Shape& shape) {
  toml::table block;
  for (const auto* const key : {"attention", "feed_forward", "damp"}) assign(block, key, scheme);
  for (const auto& patch : patches) {
    if (!selects(patch, l, shape)) continue;
    auto changes = *patch.table;
    changes.erase("where");
    block = merge(std::move(block), std::move(changes));
  }
  return block;
}

norm::Variables fixed_variables(const norm::Shape& shape) {
  auto sizes = shape.variables();
  sizes.erase("t");
  sizes.erase("T");
  return sizes;
}

}  // namespace evenkeel::config
