// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/validate.h"
#include "support/shapes.h"

namespace evenkeel::config {

using testing::tiny_shape;

/// A scheme written in a test, for a model of `layers` blocks.
inline norm::Scheme scheme_of(std::string_view toml, std::int64_t layers = 4) {
  return bind(inline_scheme(toml, ""), tiny_shape(layers));
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
