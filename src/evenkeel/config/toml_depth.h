// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel::config {

/// The first line of a TOML text with a value that is nested deeper than `limit`; nullopt if there
/// is none. Each part of a dotted key or of a table header, each inline table and each list is one
/// level: the 3 in `a.b = [[3]]` has depth 4. A table header [[a]] counts one level more than [a];
/// in headers below it, a is one level.
///
/// toml++ parses and destroys dotted keys and inline tables recursively, so a text passes this
/// check first. In a text that is no TOML, only the part before the first error counts.
/// \source TOML 1.0.0
std::optional<std::int64_t> first_line_deeper_than(std::int64_t limit, std::string_view toml);

}  // namespace evenkeel::config
