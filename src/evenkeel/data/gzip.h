// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::data {

/// True if `bytes` begin with the gzip magic number.
bool is_gzip(std::string_view bytes);

/// The concatenated content of all members of a gzip file.
/// \param name  path of the file, for messages
/// \throws Error (data, exit code 65) for damaged or truncated data, and for more than 64 MiB of
///         output at a compression ratio above 1000
/// \source RFC 1952
std::string gunzipped(std::string_view bytes, const std::string& name);

}  // namespace evenkeel::data
