// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/data/token_bytes.h"

namespace evenkeel::data {

/// The type of a token id in a file, little-endian.
enum class TokenType { uint8, int8, uint16, int16, uint32, int32, uint64, int64 };

std::int64_t item_bytes(TokenType type);
const char* name_of(TokenType type);

/// The smallest unsigned type whose maximum is at least `vocabulary` - 1 (OLMo-core's rule).
TokenType smallest_type(std::int64_t vocabulary);

/// The formats of files of token ids.
///
///   | format   | file                                                                          |
///   | -------- | ----------------------------------------------------------------------------- |
///   | tokens   | token ids alone: nanoGPT's .bin, and OLMo's .npy (which has no NumPy header)  |
///   | npy      | NumPy's format, versions 1 to 3; one dimension of integers                    |
///   | llm_c    | llm.c, modded-nanogpt: 256 int32 of header, then uint16 or uint32             |
///   | megatron | Megatron's .bin, with the index X.idx of X.bin                                |
enum class TokenFormat { tokens, npy, llm_c, megatron };

const char* name_of(TokenFormat format);

/// Where the token ids of a file are.
struct TokenLayout {
  TokenFormat format = TokenFormat::tokens;
  TokenType type = TokenType::uint16;
  bool is_assumed = false;     // the type: of a file without a header, and not named
  std::int64_t offset = 0;     // of the first id, in bytes
  std::int64_t count = 0;      // ids
  std::int64_t documents = 0;  // Megatron's number of documents; 0: unknown
};

/// Finds out the format of a token file from its first bytes, its name and its index.
/// \param type        of ids in files of the format "tokens"; nullptr: uint16 for .bin, for .npy
///                    smallest_type(vocabulary)
/// \param vocabulary  number of token ids of the model
/// \throws Error (data, exit code 65) for a file without tokens, a header that contradicts the
///         size, ids that are no integers, a checkpoint, an index that does not fit the file, or a
///         file without a header whose ids seem to have a larger type than the one assumed
/// \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, llm.c
///         (dev/data), Megatron-LM (core/datasets/indexed_dataset.py), OLMo (data/memmap_dataset)
TokenLayout token_layout(const TokenBytes& file, const TokenType* type, std::int64_t vocabulary);

}  // namespace evenkeel::data
