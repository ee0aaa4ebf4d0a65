// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::data {

/// XXH3-128 of the tokens (uint16, little-endian), 32 hexadecimal digits.
std::string digest(const std::vector<std::uint16_t>& tokens);

}  // namespace evenkeel::data
