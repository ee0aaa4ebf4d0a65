// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The embedded files of presets/. `presets()` of config.h lists their names.
namespace evenkeel::config {

/// The preset that runs start from when none is named; its values are the defaults of Config.
inline constexpr const char* kDefaultPreset = "tiny";

/// The text of a preset file in presets/.
/// \param where  the start of a message: "--preset", "mine.toml:1: preset"
/// \throws Error (usage) with the nearest name and all names
std::string_view preset_source(const std::string& name, std::string_view where);

}  // namespace evenkeel::config
