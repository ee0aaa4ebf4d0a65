// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "evenkeel/norm/canonical_form.h"

namespace evenkeel::norm {

namespace {

bool takes(const Residual& add, Tap tap) {
  return std::find(add.skip.begin(), add.skip.end(), tap) != add.skip.end();
}

bool uses_block_input(const Block& block) {
  return takes(block.attention.add, Tap::block_input) ||
         takes(block.feed_forward.add, Tap::block_input);
}

/// True if the norm differs between blocks: one of its expressions uses `l`.
bool depends_on_block(const Norm& norm) {
  for (const auto* const formula :
       {&norm.gain_init, &norm.out_scale, &norm.alpha_init, &norm.shift_init, &norm.beta_init,
        &norm.rate_max, &norm.shift_max}) {
    if (formula->names().contains("l")) return true;
  }
  return norm.stored_at && norm.stored_at->names().contains("l");
}

bool goes_into_next(const std::optional<Norm>& from, const Block& next) {
  return from && !depends_on_block(*from) && !uses_block_input(next) && !next.attention.input;
}

/// Moves the norm to the input norm of the sublayer that reads the sum.
template <typename Sublayer>
void move_into(std::optional<Norm>& from, Sublayer& sublayer) {
  sublayer.input = std::exchange(from, std::nullopt);
  for (auto& tap : sublayer.add.skip) {
    if (tap == Tap::stream) tap = Tap::normed;
  }
}

}  // namespace

NormMoves norm_moves(const Scheme& scheme) {
  NormMoves moves;
  const auto& blocks = scheme.blocks;
  if (scheme.parallel || scheme.dual || blocks.empty()) return moves;
  moves.of_embedding = scheme.embedding_scale == Number(Expression(1)) &&
                       goes_into_next(scheme.embedding_norm, blocks.front());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& [attention, feed_forward, damp] = blocks[i];
    if (damp) continue;  // damping acts on the normed sum
    if (attention.residual && !feed_forward.input) moves.of_attention.push_back(i);
    const auto& last = feed_forward.residual;
    const bool moves_on = i + 1 < blocks.size() ? goes_into_next(last, blocks[i + 1])
                                                : last && !scheme.final && !depends_on_block(*last);
    if (moves_on) moves.of_feed_forward.push_back(i);
  }
  return moves;
}

Scheme with_norms_moved(Scheme scheme, const NormMoves& moves) {
  auto& blocks = scheme.blocks;
  if (moves.of_embedding) move_into(scheme.embedding_norm, blocks.front().attention);
  for (const auto i : moves.of_attention) {
    move_into(blocks[i].attention.residual, blocks[i].feed_forward);
  }
  for (const auto i : moves.of_feed_forward) {
    auto& from = blocks[i].feed_forward.residual;
    if (i + 1 < blocks.size()) {
      move_into(from, blocks[i + 1].attention);
    } else {
      scheme.final = std::exchange(from, std::nullopt);
    }
  }
  return scheme;
}

Scheme canonical(const Scheme& scheme) {
  return with_norms_moved(scheme, norm_moves(scheme));
}

}  // namespace evenkeel::norm
