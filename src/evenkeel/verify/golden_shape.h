// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"
#include "evenkeel/verify/golden_json.h"

namespace evenkeel::verify {

/// The keys of a JSON object for the sizes of a model.
struct ShapeKeys {
  const char *layers, *width, *heads, *kv_heads, *inner, *vocabulary, *context;
};

/// The shape of a model, from a JSON object.
/// \throws Error (data) if a size is missing or below 1, if the heads do not divide the width, the
///         key-value heads not the heads, or the width of a head is odd
norm::Shape read_shape(const GoldenJson& json, const ShapeKeys& keys);

}  // namespace evenkeel::verify
