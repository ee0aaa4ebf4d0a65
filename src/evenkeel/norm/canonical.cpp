// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "evenkeel/norm/computed.h"

namespace evenkeel::norm {

namespace {

bool takes(const Residual& add, Tap tap) {
  return std::find(add.skip.begin(), add.skip.end(), tap) != add.skip.end();
}

bool keeps_its_entry(const Block& block) {
  return takes(block.attention.add, Tap::block_input) ||
         takes(block.feed_forward.add, Tap::block_input);
}

/// Would the norm be another one in another block?
bool depends_on_block(const Norm& norm) {
  for (const auto* const formula :
       {&norm.gain_init, &norm.out_scale, &norm.alpha_init, &norm.shift_init, &norm.beta_init,
        &norm.rate_max, &norm.shift_max}) {
    if (formula->names().contains("l")) return true;
  }
  return norm.stored_at && norm.stored_at->names().contains("l");
}

/// The norm moves from the sum into the half that reads it, if that half has no input norm.
template <typename Half>
void move_into(std::optional<Norm>& from, Half& half) {
  if (!from || half.input) return;
  half.input = std::exchange(from, std::nullopt);
  for (auto& tap : half.add.skip) {
    if (tap == Tap::stream) tap = Tap::normed;
  }
}

void move_across(std::optional<Norm>& from, Block& next) {
  if (!from || depends_on_block(*from) || keeps_its_entry(next)) return;
  move_into(from, next.attention);
}

}  // namespace

Scheme canonical(Scheme scheme) {
  if (scheme.parallel || scheme.dual || scheme.blocks.empty()) return scheme;
  auto& blocks = scheme.blocks;
  if (scheme.embedding_scale == Number(Expression(1))) {
    move_across(scheme.embedding_norm, blocks.front());
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto& [attention, feed_forward, damp] = blocks[i];
    if (damp) continue;  // it acts on the normed sum
    move_into(attention.residual, feed_forward);
    auto& last = feed_forward.residual;
    if (i + 1 < blocks.size()) {
      move_across(last, blocks[i + 1]);
    } else if (last && !scheme.final && !depends_on_block(*last)) {
      scheme.final = std::exchange(last, std::nullopt);
    }
  }
  return scheme;
}

}  // namespace evenkeel::norm
