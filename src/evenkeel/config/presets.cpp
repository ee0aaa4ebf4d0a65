// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/presets.h"

#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/quote.h"

namespace evenkeel::config {

/// Generated from presets/*.toml by cmake/Embed.cmake: {name, text}, sorted by name.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_presets();

std::vector<std::string> presets() {
  std::vector<std::string> names;
  for (const auto& [name, source] : embedded_presets()) names.emplace_back(name);
  return names;
}

std::string_view preset_source(const std::string& name, std::string_view where) {
  for (const auto& [each, source] : embedded_presets()) {
    if (each == name) return source;
  }
  throw Error(Exit::usage,
              text(where, ": no preset is named ", in_quotes(name), did_you_mean(name, presets())));
}

}  // namespace evenkeel::config
