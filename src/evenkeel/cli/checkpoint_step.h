// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel::cli {

/// The step that a value of --checkpoint names: "200", or "step-00000200" as the folder of the
/// checkpoint; nullopt for any other word.
std::optional<std::int64_t> checkpoint_step(std::string_view word);

}  // namespace evenkeel::cli
