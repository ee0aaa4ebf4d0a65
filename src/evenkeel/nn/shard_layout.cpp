// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/shard_layout.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::nn {

namespace {

std::vector<std::int64_t> sizes_of(const Parameters& parameters) {
  std::vector<std::int64_t> sizes;
  for (const auto& group : parameters.groups()) sizes.push_back(group.master.numel());
  return sizes;
}

/// "1, 2, 4 or 8"
std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const char* const between = i + 1 == numbers.size() ? " or " : ", ";
    out += (i == 0 ? "" : between) + std::to_string(numbers[i]);
  }
  return out;
}

std::vector<std::int64_t> ranks_that_share(std::int64_t shards) {
  std::vector<std::int64_t> all;
  for (std::int64_t ranks = 1; ranks <= shards; ++ranks) {
    if (can_share(shards, ranks)) all.push_back(ranks);
  }
  return all;
}

/// The number of shards that `ranks` can share and that is closest to `shards`; 0: there is none.
std::int64_t closest_shards(std::int64_t shards, std::int64_t ranks, std::int64_t batch) {
  std::int64_t closest = 0;
  for (auto each = ranks; each <= batch; each *= 2) {
    const bool is_closer = closest == 0 || std::abs(each - shards) < std::abs(closest - shards);
    if (batch % each == 0 && is_closer) closest = each;
  }
  return closest;
}

}  // namespace

ShardLayout::ShardLayout(std::vector<std::int64_t> sizes, std::int64_t shards)
    : sizes_(std::move(sizes)), shards_(shards) {
  EK_ASSERT(shards >= 1);
}

ShardLayout::ShardLayout(const Parameters& parameters, std::int64_t shards)
    : ShardLayout(sizes_of(parameters), shards) {}

std::int64_t ShardLayout::start_of(std::size_t group, std::int64_t shard) const {
  const auto blocks = kernels::blocks_of(sizes_.at(group), kernels::kBlockValues);
  const auto first = kernels::blocks_of(blocks * shard, shards_);
  return std::min(sizes_[group], first * kernels::kBlockValues);
}

FlatRange ShardLayout::piece(std::size_t group, std::int64_t shard) const {
  EK_ASSERT(shard >= 0 && shard < shards_);
  return {start_of(group, shard), start_of(group, shard + 1)};
}

FlatRange ShardLayout::owned(std::size_t group, std::int64_t rank, std::int64_t ranks) const {
  const auto all = bounds(group, ranks);
  const auto at = static_cast<std::size_t>(rank);
  return {all.at(at), all.at(at + 1)};
}

std::vector<std::int64_t> ShardLayout::bounds(std::size_t group, std::int64_t ranks) const {
  EK_ASSERT(ranks >= 1 && can_share(shards_, ranks));
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(ranks) + 1);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    all.push_back(start_of(group, rank * shards_ / ranks));
  }
  all.push_back(sizes_.at(group));
  return all;
}

bool can_share(std::int64_t shards, std::int64_t ranks) {
  if (ranks == 1) return true;
  return shards % ranks == 0 && std::has_single_bit(static_cast<std::uint64_t>(shards / ranks));
}

void check_shards(std::int64_t shards, std::int64_t ranks, std::int64_t batch,
                  std::string_view permission) {
  if (can_share(shards, ranks)) return;
  const auto known = ranks_that_share(shards);
  auto message = text("train.gradient_shards = ", shards, " cannot be shared by ", ranks,
                      " ranks: gradient_shards / ranks must be a power of two (", list_of(known),
                      known.size() == 1 ? " rank)" : " ranks)");
  if (const auto other = closest_shards(shards, ranks, batch); other > 0) {
    message += text("; or choose train.gradient_shards = ", other, permission);
  }
  throw Error(Exit::usage, message);
}

std::int64_t shards_of_ranks(std::int64_t configured, std::int64_t ranks, std::int64_t batch) {
  if (configured > 0) {
    check_shards(configured, ranks, batch);
    return configured;
  }
  if (batch % ranks == 0) return ranks;
  auto fewer = std::min(ranks, batch);
  while (batch % fewer != 0) --fewer;
  throw Error(Exit::usage, text(ranks, " ranks need ", ranks, " gradient shards, which do not ",
                                "divide train.batch = ", batch, "; use ", fewer,
                                fewer == 1 ? " rank" : " ranks", ", or another train.batch"));
}

}  // namespace evenkeel::nn
