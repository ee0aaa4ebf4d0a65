// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/logical.h"

namespace evenkeel::norm {

std::vector<LogicalMatrix> logical_matrices(const Shape& shape) {
  const auto query = shape.heads * shape.head_width();
  const auto key = shape.kv_heads * shape.head_width();
  const auto d = shape.width;
  const auto f = shape.inner;
  return {{"attention.q", "attention.qkv", 0, query, d},
          {"attention.k", "attention.qkv", query, key, d},
          {"attention.v", "attention.qkv", query + key, key, d},
          {"attention.output", "attention.output", 0, d, query},
          {"feed_forward.up", "feed_forward.up_gate", 0, f, d},
          {"feed_forward.gate", "feed_forward.up_gate", f, f, d},
          {"feed_forward.down", "feed_forward.down", 0, d, f}};
}

}  // namespace evenkeel::norm
