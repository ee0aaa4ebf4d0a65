// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::data {

/// True if `bytes` begin with the gzip magic number.
bool is_gzip(std::string_view bytes);

/// The concatenated content of all members of a gzip file. The data are decompressed twice, first
/// to find and check their size, so that the peak memory is the size of the content and 1 MiB.
/// \param name       path of the file, for messages
/// \param max_bytes  size limit of the content
/// \throws Error (data, exit code 65) for damaged or truncated data, for content above the limit,
///         and as soon as more than 64 MiB have come out at a compression ratio above 1000
/// \source RFC 1952
std::string gunzipped(std::string_view bytes, const std::string& name, std::uint64_t max_bytes);

}  // namespace evenkeel::data
