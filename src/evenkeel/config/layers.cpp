// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/layers.h"

#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/config/presets.h"
#include "evenkeel/config/setting.h"
#include "evenkeel/config/table.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

/// The preset that the file asks for, if it does; the key is taken out of the file.
std::optional<std::string> take_preset(toml::table& file, const std::optional<std::string>& asked) {
  const auto* const node = file.get("preset");
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) Table(file, "").refuse("preset", "a string", *node);
  auto name = node->value_or(std::string());
  preset_source(name, place(*node) + "preset");
  if (asked && *asked != name) {
    throw Error(Exit::usage, text(place(*node), "preset is ", in_quotes(name),
                                  ", but --preset says ", in_quotes(*asked), "; keep one of them"));
  }
  file.erase("preset");
  return name;
}

/// Of train.steps and train.tokens a layer states at most one, which replaces the one below.
void settle_run_length(toml::table& tree, toml::table& layer) {
  const auto* const steps = layer.at_path("train.steps").node();
  const auto* const tokens = layer.at_path("train.tokens").node();
  if (steps != nullptr && tokens != nullptr) {
    throw Error(Exit::usage, text(place(*tokens), "train.tokens excludes train.steps, which is ",
                                  toml_text(*steps), "; keep one of them"));
  }
  auto* const train = tree["train"].as_table();
  if (train == nullptr) return;
  if (steps != nullptr) train->erase("tokens");
  if (tokens != nullptr) train->erase("steps");
}

/// A layer that states schedule.kind drops from the layers below what this kind does not read.
void settle_schedule(toml::table& tree, const toml::table& layer) {
  const auto kind = layer.at_path("schedule.kind").value<std::string>();
  auto* const below = tree["schedule"].as_table();
  if (!kind || below == nullptr) return;
  if (*kind == "constant") below->erase("floor");
  if (*kind != "wsd") below->erase("decay");
}

/// Tables key by key, any other value whole.
void merge_keys(toml::table& tree, toml::table&& layer, bool is_top) {
  for (auto&& [key, node] : layer) {
    auto* const below = tree[key].as_table();
    auto* const above = node.as_table();
    if (below == nullptr || above == nullptr || (is_top && key == "scheme")) {
      tree.insert_or_assign(key, std::move(node));
    } else {
      merge_keys(*below, std::move(*above), /*is_top=*/false);
    }
  }
}

void merge(toml::table& tree, toml::table&& layer) {
  settle_run_length(tree, layer);
  settle_schedule(tree, layer);
  merge_keys(tree, std::move(layer), /*is_top=*/true);
}

/// `--set scheme.norm=...` changes the scheme of the layers below; a named one is extended.
void change_scheme(toml::table& tree, Setting setting) {
  if (const auto name = tree["scheme"].value_exact<std::string>()) {
    tree.insert_or_assign("scheme", toml::table{{"extends", *name}});
  }
  apply(std::move(setting), tree);
}

/// The --set of a command line are one layer, in which later ones win.
void lay_settings(Layers& layers, const std::vector<std::string>& sets) {
  toml::table layer;
  std::vector<Setting> changes;
  for (const auto& set : sets) {
    auto setting = parse_setting(set);
    if (setting.path.front() == "preset") {
      throw Error(Exit::usage,
                  text("--set ", set, ": a preset lies below the files; write --preset"));
    }
    if (setting.path.front() == "scheme" && setting.path.size() > 1) {
      changes.push_back(std::move(setting));
      continue;
    }
    if (setting.path.size() == 1) {
      merge(layer, toml::table{{setting.path.front(), std::move(*setting.value.get("value"))}});
    } else {
      apply(std::move(setting), layer);
    }
  }
  layers.states_tied = layers.states_tied || layer.at_path("model.tied");
  merge(layers.tree, std::move(layer));
  for (auto& change : changes) change_scheme(layers.tree, std::move(change));
}

Layers lay_files(const Sources& sources, std::vector<toml::table> files) {
  Layers layers;
  layers.preset = sources.preset.value_or(kDefaultPreset);
  for (auto& file : files) {
    layers.preset = take_preset(file, sources.preset).value_or(layers.preset);
  }
  layers.tree = parse_toml(preset_source(layers.preset, "--preset"), "preset " + layers.preset);
  for (auto& file : files) {
    layers.states_tied = layers.states_tied || file.at_path("model.tied");
    merge(layers.tree, std::move(file));
  }
  if (sources.scheme) layers.tree.insert_or_assign("scheme", *sources.scheme);
  lay_settings(layers, sources.sets);
  return layers;
}

}  // namespace

Layers lay(const Sources& sources) {
  std::vector<toml::table> files;
  for (const auto& file : sources.files) {
    files.push_back(parse_toml(read_file(file), file.string()));
  }
  return lay_files(sources, std::move(files));
}

Layers lay_text(const std::string& toml, const std::string& name) {
  std::vector<toml::table> files;
  files.push_back(parse_toml(toml, name));
  return lay_files({}, std::move(files));
}

}  // namespace evenkeel::config
