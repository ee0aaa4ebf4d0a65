// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace evenkeel::data {

/// The bytes of the tokens. End-of-text and the tokens of a padded vocabulary give no bytes.
std::string detokenize(std::span<const std::int64_t> tokens);

}  // namespace evenkeel::data
