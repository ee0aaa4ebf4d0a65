// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The built-in files of presets/. `presets()` in config.h lists their names.
namespace evenkeel::config {

/// The preset of a run that names none. Its values are the defaults of Config.
inline constexpr const char* kDefaultPreset = "tiny";

/// The text of a preset file.
/// \param where  prefix of a message: "--preset", "mine.toml:1: preset"
/// \throws Error (usage, exit code 64), with the nearest name and all names
std::string_view preset_source(const std::string& name, std::string_view where);

}  // namespace evenkeel::config
