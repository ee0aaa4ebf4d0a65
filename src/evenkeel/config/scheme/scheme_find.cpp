// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "evenkeel/base/file.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/config/scheme/scheme_merge.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/scheme/scheme_value.h"
#include "evenkeel/config/synonyms.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemesFolder = "schemes";
constexpr const char* kSuffix = ".toml";

/// A scheme that is not yet merged with its parents.
struct UnmergedScheme {
  std::string name;
  std::string identity;            // equal for the same file or catalogue name
  std::optional<fs::path> folder;  // nullopt: a catalogue scheme
  toml::table table;
};

UnmergedScheme from_catalogue(const std::string& name) {
  const auto label = text(kSchemesFolder, "/", name, kSuffix);
  return {name, text("catalogue ", name), std::nullopt, parse_toml(catalogue_source(name), label)};
}

UnmergedScheme from_file(const fs::path& path) {
  return {path.stem().string(), fs::weakly_canonical(path).string(), path.parent_path(),
          parse_toml(read_file(path), path.string())};
}

bool is_path(const std::string& name) {
  return name.ends_with(kSuffix);
}

/// The parent that `child` extends. A path is searched in the folder of the child, then as given; a
/// name in that folder, in ./schemes, then in the catalogue. A catalogue scheme has a name only.
UnmergedScheme parent_of(const UnmergedScheme& child, const std::string& name,
                         const toml::node& node) {
  if (child.folder) {
    const auto file = is_path(name) ? name : name + kSuffix;
    const auto elsewhere = is_path(name) ? fs::path(file) : kSchemesFolder / fs::path(file);
    for (const auto& path : {*child.folder / file, elsewhere}) {
      if (fs::is_regular_file(path)) return from_file(path);
    }
  }
  const auto known = catalogue();
  const auto own = scheme_of_model(name);
  if (std::count(known.begin(), known.end(), own) > 0) return from_catalogue(own);
  refuse("unknown_parent", {child.name, "extends"}, node,
         text("there is no scheme \"", name, "\" in the folder of this one, in ./", kSchemesFolder,
              " or in the catalogue",
              did_you_mean(scheme_of_synonym(name), known,
                           "`evenkeel schemes` lists those of the catalogue")));
}

/// A table `norm` without `kind` changes fields of the parent's norm, not of the default norm.
void inherit_kind(toml::table& own, const toml::table& inherited) {
  auto* const norm = own.get_as<toml::table>("norm");
  const auto* const before = inherited.get("norm");
  if (norm == nullptr || before == nullptr || norm->contains("kind")) return;
  auto whole = before->is_table() ? *before->as_table() : toml::table();
  if (before->is_string()) whole.insert_or_assign("kind", *before);
  own.insert_or_assign("norm", merge(std::move(whole), std::move(*norm)));
}

/// The end of the message about a file that is found as its own parent: it has the name of the
/// catalogue scheme that it extends.
std::string cycle_remedy(const UnmergedScheme& own, const std::string& parent) {
  const auto known = catalogue();
  const bool hides = own.name == parent && std::count(known.begin(), known.end(), parent) > 0;
  return hides ? text("; the file hides the scheme \"", parent,
                      "\" of the catalogue: rename the file")
               : "";
}

/// Merges a scheme with its parents, recursively along `extends`.
/// \param chain  names and identities of all children, the outermost first
toml::table merged_with_parents(UnmergedScheme own,
                                std::vector<std::pair<std::string, std::string>> chain) {
  const auto* const node = own.table.get("extends");
  if (node == nullptr) return std::move(own.table);
  const auto name = read_word(*node, {own.name, "extends"});
  auto parent = parent_of(own, name, *node);
  chain.emplace_back(own.name, own.identity);
  for (const auto& [each, identity] : chain) {
    if (identity != parent.identity) continue;
    std::string circle;
    for (const auto& link : chain) circle += link.first + " -> ";
    refuse("extends_cycle", {own.name, "extends"}, *node,
           text("a scheme cannot descend from itself: ", circle, parent.name,
                cycle_remedy(own, name)));
  }
  auto inherited = merged_with_parents(std::move(parent), std::move(chain));
  for (const auto* const word : kInfoKeys) inherited.erase(word);
  own.table.erase("extends");
  inherit_kind(own.table, inherited);
  return merge(std::move(inherited), std::move(own.table));
}

bool changes_only_the_norm(const toml::table& table) {
  return table.size() == 2 && table["extends"].is_string() && table.contains("norm");
}

/// A name from parent and change that is valid as a folder name: "pre_norm+layer_norm",
/// "pre_norm+own".
std::string name_of(const toml::table& table) {
  const auto parent = table["extends"].value<std::string>();
  if (!parent) return "inline";
  const auto stem = is_path(*parent) ? fs::path(*parent).stem().string() : *parent;
  const auto norm = table["norm"];
  const bool has_only_a_kind = norm.is_table() && norm.as_table()->size() == 1;
  const auto kind = (has_only_a_kind ? norm["kind"] : norm).value<std::string>();
  auto name = stem + "+" + (kind && changes_only_the_norm(table) ? *kind : "own");
  const auto is_fit = [](unsigned char letter) {
    constexpr std::string_view kFit = "._+-";
    return std::isalnum(letter) != 0 || kFit.find(static_cast<char>(letter)) != kFit.npos;
  };
  std::replace_if(name.begin(), name.end(), std::not_fn(is_fit), '_');
  return name;
}

/// Copies title and equations of the parent. They are valid for another norm at the same places.
void inherit_info(toml::table& merged, const UnmergedScheme& own) {
  const auto& node = *own.table.get("extends");
  const auto parent = parent_of(own, read_word(node, {own.name, "extends"}), node);
  for (const auto* const word : {"title", "equation"}) {
    if (const auto* const words = parent.table.get(word)) merged.insert_or_assign(word, *words);
  }
}

}  // namespace

std::string scheme_of_model(const std::string& name) {
  static const std::map<std::string, std::string, std::less<>> kFamilies = {
      {"deepseek_v3", "pre_norm"},
      {"llama", "pre_norm"},
      {"mistral", "pre_norm"},
      {"qwen2", "pre_norm"},
      {"qwen3", "pre_qk"}};
  const auto found = kFamilies.find(name);
  return found == kFamilies.end() ? name : found->second;
}

SchemeSource find_scheme(const std::string& name_or_file) {
  auto own = is_path(name_or_file) ? from_file(name_or_file)
                                   : from_catalogue(scheme_of_model(name_or_file));
  const auto name = own.name;
  return make_source(name, merged_with_parents(std::move(own), {}));
}

SchemeSource inline_scheme(const toml::table& table, const std::filesystem::path& base_folder) {
  const UnmergedScheme own{name_of(table), "inline", base_folder, table};
  auto merged = merged_with_parents(own, {});
  if (!table.contains("norm_parameters")) merged.erase("norm_parameters");
  if (changes_only_the_norm(table)) inherit_info(merged, own);
  return make_source(own.name, std::move(merged));
}

SchemeSource inline_scheme(std::string_view toml, const std::filesystem::path& base_folder) {
  return inline_scheme(parse_toml(toml, ""), base_folder);
}

bool is_of_catalogue(const SchemeSource& scheme) {
  const auto names = catalogue();
  if (std::find(names.begin(), names.end(), scheme.name) == names.end()) return false;
  return table_of(find_scheme(scheme.name)) == table_of(scheme);
}

const toml::table& table_of(const SchemeSource& source) {
  static const toml::table kEmpty;
  return source.table ? source.table->merged : kEmpty;
}

SchemeSource make_source(const std::string& name, toml::table merged) {
  return {name, std::make_shared<const SchemeTable>(SchemeTable{std::move(merged)})};
}

std::string scheme_text(const SchemeSource& source) {
  return toml_text(table_of(source));
}

}  // namespace evenkeel::config
