// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace evenkeel::data {

/// The last offset at which a text may be cut (see read_pieces()); 0 if there is none. A cut is
/// never at the end of `text`.
std::size_t last_cut(std::string_view text);

}  // namespace evenkeel::data
