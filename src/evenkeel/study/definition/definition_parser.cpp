// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/synonyms.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"
#include "evenkeel/study/definition/axes_parser.h"
#include "evenkeel/study/definition/claims_parser.h"
#include "evenkeel/study/definition/definition.h"
#include "evenkeel/study/definition/refinement_parser.h"

namespace evenkeel::study {

namespace {

using config::place;
using config::TableReader;

std::string setting_key(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

/// Whether one key is the other one or inside its table: "scheme" and "scheme.norm".
bool is_same_key(const std::string& one, const std::string& other) {
  return one == other || one.starts_with(other + ".") || other.starts_with(one + ".");
}

/// No key is set at two places, nor without effect.
void check_conflicts(const Study& study, const std::string& where) {
  std::vector<std::pair<std::string, std::string>> owners;  // key, who sets it
  const auto add = [&](const std::string& key, const std::string& owner) {
    if (key == "train.threads" && !study.exclusive) {
      throw Error(Exit::usage,
                  text(where, ": train.threads has no effect in ", owner,
                       ": parallel runs share the cores; set alone = true, or leave it out"));
    }
    for (const auto& [other, by] : owners) {
      if (!is_same_key(key, other) || by == owner) continue;
      const bool refines = key.starts_with("scheme.") && other == "scheme";  // another norm in it
      if (refines || (other.starts_with("scheme.") && key == "scheme")) continue;
      throw Error(Exit::usage, text(where, ": ", key, " is set by ", by, " and by ", owner,
                                    "; keep one of them"));
    }
    const std::pair pair(key, owner);
    if (std::find(owners.begin(), owners.end(), pair) == owners.end()) owners.push_back(pair);
  };
  for (const auto& setting : study.settings) add(setting_key(setting), "the settings");
  for (const auto& axis : study.axes) {
    for (const auto& value : axis.values) {
      for (const auto& setting : value.settings) add(setting_key(setting), "grid." + axis.name);
    }
  }
  if (study.tune) add(study.tune->key, "[tune]");
  add("seed", "seeds");
}

/// A rising list of shares in (0, 1]; empty without the key. \throws Error (usage)
std::vector<double> shares_of(TableReader& table, const std::string& key) {
  std::vector<double> shares;
  const auto* const node = table.node(key);
  if (node == nullptr) return shares;
  const auto* const list = node->as_array();
  if (list == nullptr || list->empty()) table.refuse(key, "a list of shares", *node);
  for (const auto& each : *list) {
    const double share = each.value_or(0.0);
    const bool rises = shares.empty() || share > shares.back();
    if (!(share > 0 && share <= 1 && rises)) {
      table.refuse(key, "a rising list of shares in (0, 1]", each);
    }
    shares.push_back(share);
  }
  return shares;
}

/// The table [tune]. Defaults: key schedule.peak, shares 1/8, 1/4 and 1 of the steps, seed 1001, 4
/// further values.
/// \throws Error (usage)
SearchConfig search_config_of(TableReader table) {
  SearchConfig tune;
  constexpr std::int64_t kOwnSeed = 1001;
  tune.key = table.string("key", "schedule.peak");
  if (const auto* const node = table.node("values")) {
    const auto* const list = node->as_array();
    if (list == nullptr || list->size() < 2) table.refuse("values", "a list of two or more", *node);
    for (const auto& each : *list) tune.values.push_back(config::toml_text(each));
    if (std::set(tune.values.begin(), tune.values.end()).size() != tune.values.size()) {
      table.refuse("values", "a list without repetitions", *node);
    }
  }
  tune.rungs = shares_of(table, "rungs");
  if (tune.rungs.empty()) tune.rungs = {0.125, 0.25, 1};
  tune.seed = table.integer("seed", kOwnSeed, {.least = 0});
  tune.extend = table.integer("extend", kFurtherValues, {.least = 0, .most = kMostFurtherValues});
  table.refuse_unknown_keys();
  return tune;
}

/// Tables key by key, any other value whole: a size above the file's own values.
void merge(toml::table& below, const toml::table& above) {
  for (const auto& [key, node] : above) {
    auto* const inner = below[key].as_table();
    const auto* const outer = node.as_table();
    if (inner != nullptr && outer != nullptr) {
      merge(*inner, *outer);
    } else {
      below.insert_or_assign(key, node);
    }
  }
}

/// Checks that a table of settings has keys of a configuration only. \throws Error (usage)
void check_settings(const toml::table& table, const std::string& prefix,
                    const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    const auto name = prefix + config::key_text(key.str());
    const auto is_above = [&](const std::string& each) { return each.starts_with(name + "."); };
    if (name == "scheme" || std::ranges::find(known, name) != known.end()) continue;
    if (std::ranges::none_of(known, is_above)) {
      throw Error(Exit::usage, text(config::place(node), "settings.", name, ": unknown key",
                                    did_you_mean(config::key_of_synonym(name), known,
                                                 "docs/configuration.md lists them")));
    }
    if (const auto* const inner = node.as_table()) check_settings(*inner, name + ".", known);
  }
}

/// The tables [sizes.NAME]; nullptr without any. \throws Error (usage) if one is no table
const toml::table* sizes_in(const toml::table& tree, const std::string& where) {
  const auto* const node = tree.get("sizes");
  if (node == nullptr) return nullptr;
  const auto* const table = node->as_table();
  const bool good = table != nullptr && !table->empty() &&
                    std::all_of(table->begin(), table->end(),
                                [](const auto& each) { return each.second.is_table(); });
  if (!good) throw Error(Exit::usage, text(where, ": sizes must be tables: [sizes.smoke]"));
  for (const auto& [key, value] : *table) {
    constexpr std::string_view kFit =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    const auto name = key.str();
    const bool is_fit = name.find_first_not_of(kFit) == name.npos;
    if (is_fit && !name.empty() && !name.starts_with('.')) continue;
    throw Error(Exit::usage, text(config::place(value),
                                  "the name of a size must have letters, digits, "
                                  "'.', '_', '+' and '-' only, and no '.' at its begin, because it "
                                  "names a folder, but is \"",
                                  name, "\""));
  }
  return table;
}

/// Checks the settings of the file and of its sizes. \throws Error (usage)
void check_all_settings(const toml::table& file, const std::string& where) {
  auto known = config::key_names();
  known.emplace_back("preset");
  const auto check = [&](const toml::table& table) {
    const auto* const settings = table.get_as<toml::table>("settings");
    if (settings != nullptr) check_settings(*settings, "", known);
  };
  check(file);
  if (const auto* const sizes = sizes_in(file, where)) {
    for (const auto& [name, size] : *sizes) check(*size.as_table());
  }
}

/// The file as it is at one size.
toml::table at_size(toml::table tree, const std::string& where, const std::string& size) {
  const auto* const sizes = sizes_in(tree, where);
  if (sizes == nullptr) {
    if (size.empty()) return tree;
    throw Error(Exit::usage, text(where, " has no sizes, but --size is ", size));
  }
  std::vector<std::string> known;
  for (const auto& [key, node] : *sizes) known.emplace_back(key.str());
  const auto* const chosen = sizes->get_as<toml::table>(size);
  if (chosen == nullptr) {
    throw Error(Exit::usage, text(where, ": --size must be one of its sizes, but is \"", size, "\"",
                                  did_you_mean(size, known)));
  }
  const toml::table above = *chosen;
  tree.erase("sizes");
  merge(tree, above);
  for (const char* const name : {"tune", "refine"}) {
    const auto* const node = tree.get(name);
    if (node != nullptr && node->is_boolean() && !node->value_or(true)) tree.erase(name);
  }
  return tree;
}

/// `seeds`, by default 1, 2, 3. \throws Error (usage) for an empty list or a repeated seed
std::vector<std::int64_t> seeds_of(TableReader& top) {
  auto seeds = top.integers("seeds", {1, 2, 3}, {.least = 0});
  const auto* const node = top.node("seeds");
  if (seeds.empty()) top.refuse("seeds", "a list of at least one seed", *node);
  if (std::set(seeds.begin(), seeds.end()).size() != seeds.size()) {
    top.refuse("seeds", "a list without repetitions", *node);
  }
  return seeds;
}

/// The search has a seed of its own.
void check_seeds(const Study& study, const std::string& where) {
  if (!study.tune) return;
  if (std::count(study.seeds.begin(), study.seeds.end(), study.tune->seed) == 0) return;
  throw Error(Exit::usage, text(where, ": tune.seed must be none of the study's seeds, but is ",
                                study.tune->seed));
}

/// Parses the keys with a single value, and the seeds.
void parse_scalars(Study& study, TableReader& top) {
  study.title = top.string("title", study.name);
  study.question = top.string("question", "");
  study.source = top.string("source", "");
  study.fails_above = top.number("fails_above", 0, config::kNotNegative);
  study.exclusive = top.flag("alone", false);
  study.minutes = top.number("minutes", 0, config::kNotNegative);
  study.uses_bootstrap = top.word("test", "t", {"t", "bootstrap"}) == "bootstrap";
  study.controls_false_discoveries =
      top.word("correction", "holm", {"holm", "benjamini_hochberg"}) == "benjamini_hochberg";
  if (top.node("smallest_effect") != nullptr) {
    study.smallest_effect = top.number("smallest_effect", 0, config::kNotNegative);
  }
  study.loss_shares = shares_of(top, "val_loss_at");
  study.power_law = top.word("power_law", "none", {"none", "parameters"});
  study.seeds = seeds_of(top);
}

std::string stem_of(const std::string& where) {
  const auto slash = where.find_last_of('/');
  auto name = slash == std::string::npos ? where : where.substr(slash + 1);
  if (name.ends_with(".toml")) name.resize(name.size() - 5);
  return name;
}

}  // namespace

std::optional<double> smallest_effect_of(const Study& study, const Measure& measure) {
  const bool is_own = measure == study.measure || measure == compared_measure(study);
  if (study.smallest_effect && is_own) {
    return *study.smallest_effect > 0 ? study.smallest_effect : std::nullopt;
  }
  return measure.unit().starts_with("nats") ? std::optional(kSmallestEffectNats) : std::nullopt;
}

void add_setting(Study& study, const std::string& setting) {
  auto changed = study;
  const auto key = setting_key(setting);
  std::erase_if(changed.settings, [&](const auto& each) {
    return setting_key(each) == key || setting_key(each).starts_with(key + ".");
  });
  changed.settings.push_back(setting);
  check_conflicts(changed, "--set " + setting);
  study = std::move(changed);
}

void set_seeds(Study& study, const std::string& argument) {
  const auto whole = [](std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_number = failed == std::errc() && end == digits.data() + digits.size();
    return is_number ? value : std::int64_t{-1};
  };
  const auto dash = argument.find('-');
  const bool is_range = dash != std::string::npos;
  const auto first = is_range ? whole(argument.substr(0, dash)) : 1;
  const auto last = whole(is_range ? argument.substr(dash + 1) : argument);
  if (first < 0 || last < first || last - first >= kMaxSeeds) {
    throw Error(Exit::usage, text("--seeds must be a number from 1 to ", kMaxSeeds,
                                  " or a range such as 9-16, but is \"", argument, "\""));
  }
  auto changed = study;
  changed.seeds.resize(static_cast<std::size_t>(last - first + 1));
  std::iota(changed.seeds.begin(), changed.seeds.end(), first);
  check_seeds(changed, "--seeds " + argument);
  study = std::move(changed);
}

std::vector<std::string> sizes_of(const std::string& toml, const std::string& where) {
  const auto tree = config::parse_toml(toml, where);
  std::vector<std::pair<std::uint32_t, std::string>> lines;
  if (const auto* const sizes = sizes_in(tree, where)) {
    for (const auto& [key, node] : *sizes) lines.emplace_back(node.source().begin.line, key.str());
  }
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> names;
  names.reserve(lines.size());
  for (auto& [line, name] : lines) names.push_back(std::move(name));
  return names;
}

Study parse_study(const std::string& toml, const std::string& where, const std::string& size) {
  auto file = config::parse_toml(toml, where);
  check_all_settings(file, where);
  const auto tree = at_size(std::move(file), where, size);
  Study study{.name = stem_of(where), .size = size, .text = toml};
  TableReader top(tree, "");
  parse_scalars(study, top);
  if (const auto* const settings = top.node("settings")) {
    if (!settings->is_table()) top.refuse("settings", "a table", *settings);
    study.settings = leaf_settings(*settings->as_table());
  }
  const auto* const grid = top.node("grid");
  if (grid != nullptr && !grid->is_table()) top.refuse("grid", "a table", *grid);
  if (grid != nullptr) study.axes = parse_axes(*grid->as_table(), where);
  if (study.axes.empty()) {
    throw Error(Exit::usage, text(where,
                                  ": the grid is empty; it must have at least one axis: "
                                  "[grid] scheme = [\"pre_norm\", \"hybrid_norm\"]"));
  }
  if (top.node("tune") != nullptr) {
    auto table = top.section("tune");
    study.tune = search_config_of(table);
    if (study.tune->values.empty()) {
      throw Error(Exit::usage, text(where,
                                    ": [tune] must list the values to choose from: "
                                    "values = [1e-3, 2e-3, 4e-3]"));
    }
  }
  check_seeds(study, where);
  check_conflicts(study, where);
  parse_claims(study, top, where);
  parse_refinement(study, top, where);
  top.refuse_unknown_keys();
  return study;
}

}  // namespace evenkeel::study
