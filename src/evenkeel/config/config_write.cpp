// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

/// The table [scheme] for a scheme that is not in the catalogue.
std::string scheme_table(const SchemeSource& scheme) {
  return text("\n# The normalization scheme.\n[scheme]\nname = ", in_quotes(scheme.name), "\n",
              scheme_toml(scheme));
}

/// The table of a section; "" if no key is written. Top-level keys have no heading.
std::string section_text(const Section& section, const Config& config,
                         const KeyFilter& is_written) {
  std::string keys;
  for (const auto& key : section.keys) {
    const auto value = key.write(config);
    if (value.empty() || !is_written(full_name(section, key), value)) continue;
    keys += text(key.name, " = ", value, "\n");
  }
  if (section.name.empty() || keys.empty()) return keys;
  return text("\n# ", section.comment, "\n[", section.name, "]\n", keys);
}

/// A configuration after a first line, which is a comment.
std::string config_after(std::string_view first_line, const Config& config,
                         const KeyFilter& is_written) {
  const bool named = is_of_catalogue(config.scheme);
  auto out = text(first_line, "\npreset = ", in_quotes(config.preset),
                  "  # where the run started from; all values are below\n");
  if (named) out += text("scheme = ", in_quotes(config.scheme.name), "\n");
  for (const auto& section : sections()) out += section_text(section, config, is_written);
  return named ? out : out + scheme_table(config.scheme);
}

}  // namespace

std::string scheme_toml(const SchemeSource& source) {
  std::string out;
  for (const auto& [key, node] : table_of(source)) {
    out += text(key_text(key.str()), " = ", toml_text(node), "\n");
  }
  return out;
}

std::string to_toml(const Config& config) {
  constexpr std::string_view kFirstLine =
      "# The settings; as a --config file they repeat a run whose settings never changed.";
  return config_after(kFirstLine, config,
                      [](const std::string&, const std::string&) { return true; });
}

std::string to_toml(const Config& config, const KeyFilter& is_written) {
  constexpr std::string_view kOfCacheKeys =  // never changes: keys of cached runs are its digests
      "# A complete configuration; as a --config file it repeats the run.";
  return config_after(kOfCacheKeys, config, is_written);
}

std::vector<KeyDifference> differences(const Config& before, const Config& after) {
  std::vector<KeyDifference> out;
  if (table_of(before.scheme) != table_of(after.scheme)) {
    const auto shown = [](const SchemeSource& scheme) {
      return is_of_catalogue(scheme) ? in_quotes(scheme.name) : scheme_text(scheme);
    };
    out.push_back({"scheme", shown(before.scheme), shown(after.scheme)});
  }
  for (const auto& section : sections()) {
    for (const auto& key : section.keys) {
      const auto old_value = key.write(before);
      const auto new_value = key.write(after);
      if (old_value == new_value) continue;
      out.push_back({full_name(section, key), old_value.empty() ? "unset" : old_value,
                     new_value.empty() ? "unset" : new_value});
    }
  }
  return out;
}

bool is_named(const std::string& key, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return key == name || key.starts_with(name + ".");
  });
}

}  // namespace evenkeel::config
