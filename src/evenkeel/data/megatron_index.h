// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// The index X.idx of X.bin, if there is one that begins with Megatron's magic string.
/// \throws Error (data, exit code 65) if the index cannot be read
std::optional<TokenBytes> megatron_index_of(const std::string& path);

/// The layout of Megatron's `file`. The sequences must follow each other in the file without gaps,
/// as Megatron writes them. Reads the index in blocks: memory does not grow with it.
/// \throws Error (data, exit code 65) for an index that does not fit the file, or ids that are no
///         integers
/// \source Megatron-LM, core/datasets/indexed_dataset.py
TokenLayout megatron_layout(const TokenBytes& file, const TokenBytes& index);

}  // namespace evenkeel::data
