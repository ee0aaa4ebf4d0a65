// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/merge_sources.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/config/presets.h"
#include "evenkeel/config/setting.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

/// Removes the key `preset` of the file and returns its value; nullopt if it is missing.
std::optional<std::string> take_preset(toml::table& file, const std::optional<std::string>& asked) {
  const auto* const node = file.get("preset");
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) TableReader(file, "").refuse("preset", "a string", *node);
  auto name = node->value_or(std::string());
  preset_source(name, place(*node) + "preset");
  if (asked && *asked != name) {
    throw Error(Exit::usage, text(place(*node), "preset is ", in_quotes(name),
                                  ", but --preset says ", in_quotes(*asked), "; keep one of them"));
  }
  file.erase("preset");
  return name;
}

/// A source with train.steps removes an earlier train.tokens, and vice versa. Both in one source
/// are an error.
void resolve_run_length(toml::table& tree, toml::table& source) {
  const auto* const steps = source.at_path("train.steps").node();
  const auto* const tokens = source.at_path("train.tokens").node();
  if (steps != nullptr && tokens != nullptr) {
    throw Error(Exit::usage, text(place(*tokens), "train.tokens excludes train.steps, which is ",
                                  toml_text(*steps), "; keep one of them"));
  }
  auto* const train = tree["train"].as_table();
  if (train == nullptr) return;
  if (steps != nullptr) train->erase("tokens");
  if (tokens != nullptr) train->erase("steps");
}

/// A source with schedule.kind removes the earlier keys that this kind does not read.
void resolve_schedule(toml::table& tree, const toml::table& source) {
  const auto kind = source.at_path("schedule.kind").value<std::string>();
  auto* const below = tree["schedule"].as_table();
  if (!kind || below == nullptr) return;
  if (*kind == "constant") below->erase("floor");
  if (*kind != "wsd") below->erase("decay");
}

/// Merges tables key by key; any other value replaces the earlier one.
void merge_keys(toml::table& tree, toml::table&& source, bool is_top) {
  for (auto&& [key, node] : source) {
    auto* const below = tree[key].as_table();
    auto* const above = node.as_table();
    if (below == nullptr || above == nullptr || (is_top && key == "scheme")) {
      tree.insert_or_assign(key, std::move(node));
    } else {
      merge_keys(*below, std::move(*above), /*is_top=*/false);
    }
  }
}

void merge_sources_merge(toml::table& tree, toml::table&& source) {
  resolve_run_length(tree, source);
  resolve_schedule(tree, source);
  merge_keys(tree, std::move(source), /*is_top=*/true);
}

/// `--set scheme.norm=...` changes the scheme of the earlier sources: a named scheme is extended.
void change_scheme(toml::table& tree, Setting setting) {
  if (const auto name = tree["scheme"].value_exact<std::string>()) {
    tree.insert_or_assign("scheme", toml::table{{"extends", *name}});
  }
  apply(std::move(setting), tree);
}

/// All --set of a command line are one source; later ones override earlier ones.
void merge_settings(MergedSources& merged, const std::vector<std::string>& sets) {
  toml::table source;
  std::vector<Setting> changes;
  for (const auto& set : sets) {
    auto setting = parse_setting(set);
    if (setting.path.front() == "preset") {
      throw Error(Exit::usage, text("--set ", set,
                                    ": files change a preset, so it comes first; write --preset"));
    }
    if (setting.path.front() == "scheme" && setting.path.size() > 1) {
      changes.push_back(std::move(setting));
      continue;
    }
    if (setting.path.size() == 1) {
      merge_sources_merge(
          source, toml::table{{setting.path.front(), std::move(*setting.value.get("value"))}});
    } else {
      apply(std::move(setting), source);
    }
  }
  merged.states_tied = merged.states_tied || source.at_path("model.tied");
  merge_sources_merge(merged.tree, std::move(source));
  for (auto& change : changes) change_scheme(merged.tree, std::move(change));
}

MergedSources merge_files(const Sources& sources, std::vector<toml::table> files) {
  MergedSources merged;
  merged.preset = sources.preset.value_or(kDefaultPreset);
  for (auto& file : files) {
    merged.preset = take_preset(file, sources.preset).value_or(merged.preset);
  }
  merged.tree = parse_toml(preset_source(merged.preset, "--preset"), "preset " + merged.preset);
  for (auto& file : files) {
    merged.states_tied = merged.states_tied || file.at_path("model.tied");
    merge_sources_merge(merged.tree, std::move(file));
  }
  if (sources.scheme) merged.tree.insert_or_assign("scheme", *sources.scheme);
  merge_settings(merged, sources.sets);
  return merged;
}

toml::table parse_file(const std::filesystem::path& file) {
  keep_pipe(file);
  const bool is_empty = file == "/dev/null";
  return parse_toml(is_empty ? "" : read_file(file), file.string());
}

}  // namespace

bool sets_key(const Sources& sources, std::string_view key) {
  for (const auto& file : sources.files) {
    const auto tree = parse_file(file);
    if (tree.at_path(key)) return true;
  }
  return std::any_of(sources.sets.begin(), sources.sets.end(), [&](const std::string& set) {
    toml::table tree;
    apply(parse_setting(set), tree);
    return static_cast<bool>(tree.at_path(key));
  });
}

MergedSources merge_sources(const Sources& sources) {
  std::vector<toml::table> files;
  files.reserve(sources.files.size());
  for (const auto& file : sources.files) files.push_back(parse_file(file));
  return merge_files(sources, std::move(files));
}

MergedSources merge_text(const std::string& toml, const std::string& name) {
  std::vector<toml::table> files;
  files.push_back(parse_toml(toml, name));
  return merge_files({}, std::move(files));
}

}  // namespace evenkeel::config
