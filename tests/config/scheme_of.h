// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/scheme.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

/// The small model of the golden numbers, with `layers` blocks.
inline norm::Shape small_shape(std::int64_t layers) {
  return {.layers = layers,
          .width = 16,
          .heads = 4,
          .kv_heads = 2,
          .inner = 24,
          .vocabulary = 31,
          .context = 16};
}

/// A scheme written in a test, for a model of `layers` blocks.
inline norm::Scheme scheme_of(std::string_view toml, std::int64_t layers = 4) {
  return bind(inline_scheme(toml::parse(toml), ""), small_shape(layers));
}

/// The message with which a scheme is refused, or "accepted".
inline std::string refusal(std::string_view toml, std::int64_t layers = 4) {
  try {
    scheme_of(toml, layers);
  } catch (const norm::SchemeError& error) {
    return error.what();
  }
  return "accepted";
}

/// The code with which a scheme is refused, or "accepted".
inline std::string refused_by(std::string_view toml, std::int64_t layers = 4) {
  try {
    scheme_of(toml, layers);
  } catch (const norm::SchemeError& error) {
    return error.code();
  }
  return "accepted";
}

inline std::vector<std::string> warnings(const norm::Scheme& scheme) {
  std::vector<std::string> codes;
  for (const auto& warning : norm::validate(scheme)) codes.push_back(warning.code);
  return codes;
}

}  // namespace evenkeel::config
