// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/logical_matrices.h"

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

namespace {

/// Appends the logical matrices of a feed-forward.
/// \param where  prefix of the stored names: "feed_forward", or that of one expert
void add_dense(std::vector<LogicalMatrix>& all, const std::string& where, std::int64_t width,
               std::int64_t inner) {
  const auto up_gate = where + ".up_gate";
  all.push_back({"feed_forward.up", up_gate, 0, inner, width, where + ".up"});
  all.push_back({"feed_forward.gate", up_gate, inner, inner, width, where + ".gate"});
  all.push_back({"feed_forward.down", where + ".down", 0, width, inner, where + ".down"});
}

void add_experts(std::vector<LogicalMatrix>& all, const Shape& shape) {
  const auto d = shape.width;
  const auto f = shape.inner;
  const std::string where = "feed_forward.experts.";
  const auto own = [&](std::int64_t e, const char* part) { return text(where, e, part); };
  for (std::int64_t e = 0; e < shape.experts.count; ++e) {
    const auto first = e * 2 * f;
    all.push_back({"feed_forward.up", where + "up_gate", first, f, d, own(e, ".up")});
    all.push_back({"feed_forward.gate", where + "up_gate", first + f, f, d, own(e, ".gate")});
  }
  for (std::int64_t e = 0; e < shape.experts.count; ++e) {
    all.push_back({"feed_forward.down", where + "down", e * d, d, f, own(e, ".down")});
  }
}

}  // namespace

std::vector<LogicalMatrix> logical_matrices(const Shape& shape, std::int64_t i) {
  const auto query = shape.heads * shape.head_width();
  const auto key = shape.kv_heads * shape.head_width();
  const auto d = shape.width;
  std::vector<LogicalMatrix> all = {
      {"attention.q", "attention.qkv", 0, query, d, "attention.q"},
      {"attention.k", "attention.qkv", query, key, d, "attention.k"},
      {"attention.v", "attention.qkv", query + key, key, d, "attention.v"},
      {"attention.output", "attention.output", 0, d, query, "attention.output"}};
  if (!shape.has_router(i)) {
    add_dense(all, "feed_forward", d, shape.dense_ffn_multiple() * shape.inner);
    return all;
  }
  add_experts(all, shape);
  const auto shared = shape.experts.shared;
  if (shared > 0) add_dense(all, "feed_forward.shared", d, shared * shape.inner);
  return all;
}

}  // namespace evenkeel::norm
