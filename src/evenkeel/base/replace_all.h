// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel {

/// `text` with every occurrence of `from` replaced by `to`, from left to right without overlaps
/// (Python: str.replace).
/// \param from  not empty
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace evenkeel
