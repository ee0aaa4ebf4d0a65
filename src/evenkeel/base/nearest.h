// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel {

/// The word of `known` with the smallest edit distance to `word` (insert, delete, replace, swap of
/// neighbors). Empty if every distance is above a third of the longer word's length.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The end of a message about an unknown word: `; did you mean "rms_norm"? known: dyt, layer_norm,
/// rms_norm`. Suggests the nearest word, else the shortest one that begins with it (three letters
/// or more). Without either, the first part is missing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// As above, for a list that is too long to print: `; did you mean "pre_norm"? docs/schemes.md
/// lists all`.
/// \param where  the source of the list, as the end of the message
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view where);

}  // namespace evenkeel
