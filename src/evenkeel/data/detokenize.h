// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace evenkeel::data {

/// The bytes that the tokens stand for; end-of-text, and what a padded vocabulary adds, for none.
std::string detokenize(std::span<const std::int64_t> tokens);
std::string detokenize(std::span<const std::uint16_t> tokens);

}  // namespace evenkeel::data
