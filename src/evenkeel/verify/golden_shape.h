// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"
#include "evenkeel/verify/golden_json.h"

namespace evenkeel::verify {

/// What a JSON calls the sizes of a model.
struct ShapeKeys {
  const char *layers, *width, *heads, *kv_heads, *inner, *vocabulary, *context;
};

/// \throws Error (data) if a size is missing or the sizes do not fit one another
norm::Shape read_shape(const GoldenJson& json, const ShapeKeys& keys);

}  // namespace evenkeel::verify
