// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::cli {

/// The step that a value of --checkpoint names: "200", or "step-00000200" as the folder of the
/// checkpoint; nullopt for any other word.
std::optional<std::int64_t> checkpoint_step(std::string_view word);

/// The steps that --checkpoint of `eval` names; nullopt is the newest checkpoint.
/// \param word  "" for the newest, "all", or as checkpoint_step()
/// \throws Error (usage, exit code 64) for another word
std::vector<std::optional<std::int64_t>> checkpoint_steps(const std::string& word,
                                                          const std::filesystem::path& run);

}  // namespace evenkeel::cli
