// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/gradient_reducer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/optim/block_squares.h"
#include "evenkeel/optim/adamw.h"
#include "evenkeel/train/gather_numbers.h"

namespace evenkeel::train {

namespace {

/// The shards of a rank: neighbours, or every ranks-th one.
std::vector<std::int64_t> shards_of_rank(std::int64_t rank, std::int64_t ranks, std::int64_t shards,
                                         Sharding sharding) {
  const bool strided = sharding == Sharding::gradients;
  std::vector<std::int64_t> own(static_cast<std::size_t>(shards / ranks));
  auto shard = strided ? rank : rank * (shards / ranks);
  for (auto& each : own) each = std::exchange(shard, shard + (strided ? ranks : 1));
  return own;
}

}  // namespace

GradientReducer::GradientReducer(const nn::Parameters& parameters, const DataParallel& parallel)
    : group_(parallel.group != nullptr ? parallel.group : &alone_),
      layout_(parameters, parallel.shards),
      sharding_(parallel.sharding),
      own_shards_(
          shards_of_rank(group_->rank(), group_->ranks(), parallel.shards, parallel.sharding)) {
  const auto ranks = static_cast<std::uint64_t>(group_->ranks());
  EK_ASSERT(sharding_ != Sharding::gradients || std::has_single_bit(ranks));
  bounds_.reserve(layout_.groups());
  for (std::size_t i = 0; i < layout_.groups(); ++i) {
    bounds_.push_back(layout_.bounds(i, group_->ranks()));
  }
}

nn::FlatRange GradientReducer::own_range(std::size_t group) const {
  const auto rank = static_cast<std::size_t>(group_->rank());
  return {bounds_[group][rank], bounds_[group][rank + 1]};
}

std::vector<nn::FlatRange> GradientReducer::owned() const {
  const bool is_whole = sharding_ == Sharding::none;
  std::vector<nn::FlatRange> ranges(layout_.groups());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i] = is_whole ? nn::FlatRange{0, bounds_[i].back()} : own_range(i);
  }
  return ranges;
}

std::vector<at::Tensor> GradientReducer::parts_of(const std::vector<at::Tensor>& flat) const {
  std::vector<at::Tensor> parts(flat.size());
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const auto own = own_range(i);
    parts[i] = flat[i].narrow(0, own.begin, own.size());
  }
  return parts;
}

void GradientReducer::add(const std::vector<at::Tensor>& gradients, bool is_last) {
  const at::NoGradGuard no_grad;
  if (group_->ranks() == 1) return tree_.add(gradients, is_last);
  const auto parts = parts_of(gradients);
  const auto exchange = [&] {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      group_->reduce_scatter(gradients[i], bounds_[i], parts[i]);
    }
  };
  if (sharding_ == Sharding::gradients) {  // `ranks` neighbouring shards are a subtree
    exchange();
    tree_.add(parts, is_last);
  } else {  // the own shards are a subtree
    tree_.add(gradients, is_last);
    if (is_last) exchange();
  }
  if (is_last && sharding_ == Sharding::none) gather(gradients);
}

double GradientReducer::norm(const std::vector<at::Tensor>& gradients) {
  if (group_->ranks() > 1 && sharding_ != Sharding::none)
    return optim::gradient_norm(gather_squares(parts_of(gradients)));
  // On a CPU the norm is the tree over blocks; on a GPU the sum of one buffer has another order.
  const bool by_blocks = layout_.shards() > 1 && gradients.front().is_cuda();
  if (!by_blocks) return optim::gradient_norm(gradients);
  std::vector<std::vector<double>> squares(gradients.size());
  std::transform(gradients.begin(), gradients.end(), squares.begin(), ops::block_squares);
  return optim::gradient_norm(squares);
}

/// The squares of all blocks of each group. For each group every rank sends as many numbers as the
/// largest range has blocks.
std::vector<std::vector<double>> GradientReducer::gather_squares(
    const std::vector<at::Tensor>& parts) {
  std::vector<double> mine;
  std::vector<std::size_t> offsets;  // of the groups in `mine`
  std::vector<std::vector<std::size_t>> counts(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t rank = 1; rank < bounds_[i].size(); ++rank) {
      counts[i].push_back(ops::square_blocks(bounds_[i][rank] - bounds_[i][rank - 1]));
    }
    const auto own = ops::block_squares(parts[i]);
    offsets.push_back(mine.size());
    mine.insert(mine.end(), own.begin(), own.end());
    mine.resize(offsets.back() + *std::max_element(counts[i].begin(), counts[i].end()));
  }
  const auto all = gather_numbers(*group_, mine);
  std::vector<std::vector<double>> squares(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t rank = 0; rank < counts[i].size(); ++rank) {
      const auto* const from = all.data() + rank * mine.size() + offsets[i];
      squares[i].insert(squares[i].end(), from, from + counts[i][rank]);
    }
  }
  return squares;
}

void GradientReducer::gather(const std::vector<at::Tensor>& flat) {
  if (group_->ranks() == 1) return;
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < flat.size(); ++i) group_->all_gather(flat[i], bounds_[i]);
}

std::vector<std::vector<double>> GradientReducer::gather_rows(
    const std::vector<std::vector<double>>& own) {
  EK_ASSERT(own.size() == own_shards_.size());
  if (group_->ranks() == 1) return own;
  std::vector<double> mine;
  for (const auto& row : own) mine.insert(mine.end(), row.begin(), row.end());
  const auto all = gather_numbers(*group_, mine);
  const auto fields = own.front().size();
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(layout_.shards()));
  const auto* from = all.data();
  for (int rank = 0; rank < group_->ranks(); ++rank) {
    for (const auto shard : shards_of_rank(rank, group_->ranks(), layout_.shards(), sharding_)) {
      rows[static_cast<std::size_t>(shard)].assign(from, from + fields);
      from += fields;
    }
  }
  return rows;
}

}  // namespace evenkeel::train
