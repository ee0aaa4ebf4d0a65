// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::data {

/// Whether `bytes` begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// All members of a gzip file, unpacked, one after another.
/// \param name  the file, for messages
/// \throws Error (data) for broken or cut off data, and for data that unpack to more than 1000
///         times their size once 64 MiB are reached
/// \source RFC 1952
std::string gunzipped(std::string_view bytes, const std::string& name);

}  // namespace evenkeel::data
