// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// The larger unsigned type that the first ids of a file without a header seem to have, since the
/// upper parts of all of them are possible for ids below `vocabulary`: uint32 ids below 65,536 that
/// are read as uint16 are 0 at every second position.
/// \param layout  the type that the ids are read in
/// \return nullopt for fewer than 16 ids, or if no larger type fits
std::optional<TokenType> wider_type(const TokenBytes& file, const TokenLayout& layout,
                                    std::int64_t vocabulary);

}  // namespace evenkeel::data
