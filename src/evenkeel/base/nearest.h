// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel {

/// The word of `known` that needs the fewest edits (insert, delete, replace, swap of neighbours)
/// to become `word`; empty if none is within a third of the longer word's length.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The tail of a message about an unknown word:
/// `; did you mean "rms_norm"? known: dyt, layer_norm, rms_norm`, the first part only if one is
/// near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// The same for a list too long to print, with `where` it can be read:
/// `; did you mean "pre_norm"? docs/schemes.md lists all`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view where);

}  // namespace evenkeel
