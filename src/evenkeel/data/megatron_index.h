// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// The index X.idx of X.bin; nullopt if there is no such file.
/// \throws Error (data, exit code 65) if the file is no index of Megatron
std::optional<TokenBytes> megatron_index_of(const std::string& path);

/// The layout of Megatron's `file`. The sequences must follow each other in the file without gaps,
/// as Megatron writes them. Reads the index in blocks: memory does not grow with it.
/// \throws Error (data, exit code 65) for an index that does not fit the file, or ids that are no
///         integers
/// \source Megatron-LM, core/datasets/indexed_dataset.py
TokenLayout megatron_layout(const TokenBytes& file, const TokenBytes& index);

/// The content of the index of a .bin file with one sequence per document.
/// \param type  uint16 or int32
/// \param ends  the end of each document in tokens; each begins at the end of the one before
/// \source as above
std::string megatron_index(TokenType type, const std::vector<std::int64_t>& ends);

}  // namespace evenkeel::data
