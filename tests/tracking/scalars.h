// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/base/protobuf_field.h"

namespace evenkeel::tracking {

/// The number of a serialized value; nullopt if it is no scalar.
inline std::optional<float> scalar_in(std::string_view value) {
  constexpr std::uint64_t kSimpleValue = 2;
  const auto field = protobuf_field(value, kSimpleValue);
  if (!field) return std::nullopt;
  float out = 0;
  std::memcpy(&out, field->bytes.data(), sizeof(out));
  return out;
}

}  // namespace evenkeel::tracking
