// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/base/json_parser.h"

namespace evenkeel::store {

/// The text of a JSON value: one element per line, sorted keys, numbers in their shortest
/// round-trip form, and a final line feed. NaN and infinity become null. Invalid UTF-8 becomes
/// U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace evenkeel::store
