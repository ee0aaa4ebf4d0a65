// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/nn/parameters.h"

namespace evenkeel::nn {

/// A range of values of a flat tensor: [begin, end).
struct FlatRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};

/// Cuts the flat tensors of parameter groups into one piece per gradient shard. Pieces begin at
/// multiples of kernels::kBlockValues, so a sum over blocks has the same blocks in every piece.
/// The layout depends on the shards and not on the number of ranks: rank r of R owns the pieces
/// [r S / R, (r + 1) S / R). A piece of a small group may be empty.
class ShardLayout {
 public:
  /// \param sizes   values of each group
  /// \param shards  S, at least 1
  ShardLayout(std::vector<std::int64_t> sizes, std::int64_t shards);
  /// The layout of the groups of a model.
  ShardLayout(const Parameters& parameters, std::int64_t shards);

  std::int64_t shards() const { return shards_; }
  std::size_t groups() const { return sizes_.size(); }

  /// The piece of one shard. \param shard  from 0
  FlatRange piece(std::size_t group, std::int64_t shard) const;

  /// The values that a rank owns: all its pieces, which are neighbours.
  FlatRange owned(std::size_t group, std::int64_t rank, std::int64_t ranks) const;

  /// The ranges of all ranks: rank r owns [bounds[r], bounds[r + 1]). [ranks + 1]
  std::vector<std::int64_t> bounds(std::size_t group, std::int64_t ranks) const;

 private:
  std::int64_t start_of(std::size_t group, std::int64_t shard) const;

  std::vector<std::int64_t> sizes_;
  std::int64_t shards_;
};

/// Whether ranks can share the gradient shards: there is one rank, or shards / ranks is a power of
/// two.
bool can_share(std::int64_t shards, std::int64_t ranks);

/// Checks that ranks can share the gradient shards: there is one rank, or shards / ranks is a power
/// of two.
/// \param permission  what another number of shards needs, for the message: " with --override ..."
/// \throws Error (usage, exit code 64), with the numbers of ranks and shards that fit
void check_shards(std::int64_t shards, std::int64_t ranks, std::int64_t batch,
                  std::string_view permission = "");

/// The number of gradient shards of a batch: `configured`, or one per rank if it is 0.
/// \param batch  sequences of a step
/// \throws Error (usage, exit code 64) if the ranks cannot share them, with numbers that fit
std::int64_t shards_of_ranks(std::int64_t configured, std::int64_t ranks, std::int64_t batch);

}  // namespace evenkeel::nn
