// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/config/config.h"

/// Lengths with a unit: "100Mt" (tokens, with k, M, G or T before the t) and "5%" (of the run).
namespace evenkeel::config {

/// The length that `text` names, tokens rounded to whole ones; nothing if it has another form or
/// lies outside 0 to 1e18 tokens or 0 to 100 %. Steps have no unit: they are integers, not text.
std::optional<Length> parse_length(std::string_view text);

/// As TOML, so that reading it back gives the same length: 60, "100Mt", "5%".
std::string length_text(const Length& length);

}  // namespace evenkeel::config
