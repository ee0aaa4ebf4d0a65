// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/slots.h"

#include <set>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

namespace {

class SlotList {
 public:
  explicit SlotList(const Scheme& scheme) : scheme_(scheme) {}

  void add(const std::string& place, const std::optional<Norm>& norm, std::int64_t width) {
    if (norm) slots_.push_back({place, name_of(place), &*norm, width, 1, block_, false});
  }

  void add_heads(const std::string& place, const std::optional<Norm>& norm, std::int64_t heads) {
    const auto width = heads * scheme_.shape.head_width();
    if (norm) slots_.push_back({place, name_of(place), &*norm, width, heads, block_, true});
  }

  void add_dual(const std::string& place) {
    const auto* const norm = &scheme_.dual->norm;
    slots_.push_back({place, name_of(place), norm, scheme_.shape.width, 1, block_, false});
  }

  void add_block(const Block& block, std::int64_t l) {
    block_ = l;
    const auto d = scheme_.shape.width;
    const auto heads = scheme_.shape.heads;
    const auto kv = scheme_.shape.kv_heads;
    const auto& attention = block.attention;
    const bool reads_y = scheme_.dual && scheme_.dual->reads_norm_of_y;
    if (reads_y) add_dual("attention.dual_norm");
    add("attention.input", attention.input, d);
    add_heads("attention.q", attention.q, heads);
    add_heads("attention.k", attention.k, kv);
    add_heads("attention.v", attention.v, kv);
    add_heads("attention.context", attention.context, heads);
    add("attention.output", attention.output, d);
    add("attention.residual", attention.residual, d);
    if (reads_y) add_dual("feed_forward.dual_norm");
    add("feed_forward.input", block.feed_forward.input, d);
    add("feed_forward.hidden", block.feed_forward.hidden, scheme_.shape.inner);
    add("feed_forward.output", block.feed_forward.output, d);
    add("feed_forward.residual", block.feed_forward.residual, d);
    block_ = 0;
  }

  std::vector<Slot> slots() && { return std::move(slots_); }

 private:
  std::string name_of(const std::string& place) const {
    if (place == "embedding.norm") return "embedding_norm";
    const auto* const ending = place.ends_with("_norm") ? "" : "_norm";
    return text(block_ > 0 ? text("blocks.", block_ - 1, ".") : "", place, ending);
  }

  const Scheme& scheme_;
  std::vector<Slot> slots_;
  std::int64_t block_ = 0;
};

}  // namespace

std::vector<Slot> slots_of(const Scheme& scheme) {
  SlotList list(scheme);
  list.add("embedding.norm", scheme.embedding_norm, scheme.shape.width);
  std::int64_t l = 0;
  for (const auto& block : scheme.blocks) list.add_block(block, ++l);
  if (scheme.dual) {
    if (scheme.dual->norms_both_at_end) list.add_dual("stream_x_norm");
    list.add_dual("stream_y_norm");
  }
  list.add("final", scheme.final, scheme.shape.width);
  return std::move(list).slots();
}

std::map<std::string, Slot> slots_by_name(const Scheme& scheme) {
  std::map<std::string, Slot> slots;
  for (const auto& slot : slots_of(scheme)) slots.emplace(slot.name, slot);
  return slots;
}

std::vector<Kind> kinds_of(const Scheme& scheme) {
  std::set<Kind> kinds;
  for (const auto& slot : slots_of(scheme)) kinds.insert(slot.norm->kind);
  return {kinds.begin(), kinds.end()};
}

Variables variables_of(const Slot& slot, const Shape& shape, const std::optional<Steps>& steps) {
  auto all = slot.block > 0 ? shape.variables_of_block(slot.block, steps) : shape.variables(steps);
  const bool per_head = slot.norm->scope == Scope::head;
  all["width"] = static_cast<double>(per_head ? slot.width / slot.heads : slot.width);
  return all;
}

}  // namespace evenkeel::norm
