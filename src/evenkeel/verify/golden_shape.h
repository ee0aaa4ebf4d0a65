// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"
#include "evenkeel/verify/golden_json.h"

namespace evenkeel::verify {

/// The JSON keys of the model's sizes.
struct ShapeKeys {
  const char *layers, *width, *heads, *kv_heads, *inner, *vocabulary, *context;
};

/// Reads the shape of a model.
/// \throws Error (data, exit code 65) if a size is missing or below 1, if `heads` does not divide
///         the width or `kv_heads` does not divide `heads`, or if the head width is odd
norm::Shape read_shape(const GoldenJson& json, const ShapeKeys& keys);

}  // namespace evenkeel::verify
