// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_rules.h"

#include "evenkeel/base/error.h"

namespace evenkeel::config {

namespace {

/// The required node at `key`.
/// \throws SchemeError bad_value if it is missing
const toml::node& needed(const toml::table& table, const char* key, const Place& place) {
  const auto* const node = table.get(key);
  if (node == nullptr) refuse("bad_value", place, table, text("this rule needs \"", key, "\""));
  return *node;
}

std::vector<std::string> read_weights(const toml::table& table, const Place& place) {
  return read_list_of_words(needed(table, "weights", place), place.in("weights"));
}

std::string read_one_of(const toml::table& table, const char* key, const Place& place,
                        const std::vector<std::string>& choices) {
  const auto& node = needed(table, key, place);
  auto word = read_word(node, place.in(key));
  check_choice(word, choices, node, place.in(key));
  return word;
}

norm::Hook read_hook(const toml::table& table, const Place& place, const norm::Variables& sizes) {
  norm::Hook hook;
  hook.kind = read_one_of(table, "kind", place, {"unit_norm", "qk_clip", "profile"});
  if (hook.kind == "unit_norm") {
    check_keys(table, {"kind", "weights", "axis"}, place);
    hook.weights = read_weights(table, place);
    hook.axis = read_one_of(table, "axis", place, {"in", "out"});
  } else if (hook.kind == "qk_clip") {
    check_keys(table, {"kind", "threshold"}, place);
    hook.threshold = read_positive(needed(table, "threshold", place), place.in("threshold"), sizes);
  } else {
    check_keys(table, {"kind"}, place);
  }
  return hook;
}

}  // namespace

std::vector<norm::InitFactor> read_init(const toml::node& node, const Place& place) {
  std::vector<norm::InitFactor> rules;
  for (const auto* const table : read_list_of_tables(node, place)) {
    check_keys(*table, {"weights", "factor"}, place);
    rules.push_back({read_weights(*table, place),
                     read_expression(needed(*table, "factor", place), place.in("factor"))});
  }
  return rules;
}

std::vector<norm::Reparameterization> read_reparameterize(const toml::node& node,
                                                          const Place& place) {
  std::vector<norm::Reparameterization> rules;
  for (const auto* const table : read_list_of_tables(node, place)) {
    check_keys(*table, {"rule", "weights"}, place);
    rules.push_back({read_one_of(*table, "rule", place, {"weight_norm", "sigma_reparam"}),
                     read_weights(*table, place)});
  }
  return rules;
}

std::vector<norm::Hook> read_hooks(const toml::node& node, const Place& place,
                                   const norm::Variables& sizes) {
  std::vector<norm::Hook> hooks;
  for (const auto* const table : read_list_of_tables(node, place)) {
    hooks.push_back(read_hook(*table, place, sizes));
  }
  return hooks;
}

}  // namespace evenkeel::config
