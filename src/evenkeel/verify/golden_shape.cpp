// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/golden_shape.h"

#include "evenkeel/base/error.h"

namespace evenkeel::verify {

norm::Shape read_shape(const GoldenJson& golden, const ShapeKeys& keys) {
  const auto size = [&](const char* key) {
    const auto value = golden.integer(key);
    if (value < 1) golden.refuse(text("\"", key, "\" must be at least 1, but is ", value));
    return value;
  };
  const norm::Shape shape = {.layers = size(keys.layers),
                             .width = size(keys.width),
                             .heads = size(keys.heads),
                             .kv_heads = size(keys.kv_heads),
                             .inner = size(keys.inner),
                             .vocabulary = size(keys.vocabulary),
                             .context = size(keys.context)};
  const auto divides = [&](const char* key, std::int64_t part, const char* by, std::int64_t whole) {
    if (whole % part != 0) {
      golden.refuse(text("\"", key, "\" must divide \"", by, "\", but is ", part, " of ", whole));
    }
  };
  divides(keys.heads, shape.heads, keys.width, shape.width);
  divides(keys.kv_heads, shape.kv_heads, keys.heads, shape.heads);
  if (shape.head_width() % 2 != 0) {
    golden.refuse(text("the width of a head must be even, but is ", shape.head_width()));
  }
  return shape;
}

}  // namespace evenkeel::verify
