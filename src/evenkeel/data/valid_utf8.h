// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::data {

/// \param name    path of the file, for messages
/// \param offset  of `bytes` in the text
/// \throws Error (data, exit code 65), with the offset, for bytes that are not well-formed UTF-8
void check_utf8(std::string_view bytes, const std::string& name, std::uint64_t offset);

}  // namespace evenkeel::data
