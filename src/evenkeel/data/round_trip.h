// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/data/text_encoding.h"

namespace evenkeel::data {

/// Decodes the first documents of a folder of shards, encodes the texts again, and compares the
/// ids.
/// \param documents  how many documents at most
/// \return how many were compared
/// \throws Error (data, exit code 65) for the first document with other ids, or if the shards were
///         written with another tokenizer
std::int64_t check_round_trip(const std::string& folder, const TextEncoding& encoding,
                              std::int64_t documents);

}  // namespace evenkeel::data
