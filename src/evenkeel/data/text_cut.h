// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "evenkeel/tokenizer/line_cut.h"

namespace evenkeel::data {

/// The last offset at which a text may be cut; 0 if there is none. A cut is never at the end of
/// `text`.
/// \param where  of the tokenizer; unknown: the places of read_pieces()
std::size_t last_cut(std::string_view text, tokenizer::LineCut where = tokenizer::LineCut::unknown);

}  // namespace evenkeel::data
