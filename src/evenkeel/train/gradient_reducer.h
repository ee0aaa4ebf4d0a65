// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/comm/group.h"
#include "evenkeel/nn/shard_layout.h"
#include "evenkeel/train/gradient_tree.h"

namespace evenkeel::train {

/// What the ranks of a run divide among themselves: distributed.shard.
///
/// | value     | ZeRO stage | divided                           | exchanges of a gradient   |
/// | --------- | ---------- | --------------------------------- | ------------------------- |
/// | none      | 0          | nothing                           | once a step               |
/// | optimizer | 1          | optimizer state                   | once a step               |
/// | gradients | 2          | optimizer state, sums of gradients | once per shard of a rank |
///
/// \source Rajbhandari et al. 2020, arXiv:1910.02054
enum class Sharding { none, optimizer, gradients };

/// The ranks of a run, and how they share a batch.
struct DataParallel {
  comm::Group* group = nullptr;  // nullptr: this process alone; must outlive its users
  std::int64_t shards = 1;       // train.gradient_shards: S
  Sharding sharding = Sharding::optimizer;
};

/// Adds up the gradients of all shards of a batch in the binary tree of kernels/reduction_order.h.
/// The bits of the sum depend on the number of shards and not on the number of ranks.
class GradientReducer {
 public:
  /// \param parallel  nn::check_shards() must accept its numbers; with Sharding::gradients the
  ///                  number of ranks must be a power of two
  GradientReducer(const nn::Parameters& parameters, const DataParallel& parallel);
  GradientReducer(const GradientReducer&) = delete;  // group_ may point to alone_
  GradientReducer& operator=(const GradientReducer&) = delete;

  comm::Group& group() { return *group_; }
  const nn::ShardLayout& layout() const { return layout_; }
  Sharding sharding() const { return sharding_; }

  /// The shards that this rank computes, in ascending order. [S / ranks]
  const std::vector<std::int64_t>& own_shards() const { return own_shards_; }

  /// The values of each group that this rank updates; with Sharding::none all values.
  std::vector<nn::FlatRange> owned() const;

  /// Adds the gradient of the next own shard. With the last one, this rank's range of each
  /// parameter group becomes the sum over all shards of the batch. With Sharding::none, or one
  /// rank, all values do; otherwise the other values are undefined. Before, the memory of
  /// `gradients` is free for the next shard. All ranks call it.
  /// \param gradients  one flat buffer [n] per parameter group; overwritten
  void add(const std::vector<at::Tensor>& gradients, bool is_last);

  /// The L2 norm of the sum. Its bits depend on the number of shards, not on the number of ranks.
  /// On a CPU, and on a GPU with one shard, they are those of optim::gradient_norm() of the whole
  /// gradient; on a GPU with several shards it is the binary tree over blocks of 65,536 values. All
  /// ranks call it after add().
  double norm(const std::vector<at::Tensor>& gradients);

  /// Copies this rank's range of each group to all ranks. All ranks call it.
  /// \param flat  one tensor [n] per parameter group, of any dtype
  void gather(const std::vector<at::Tensor>& flat);

  /// A table with one row of numbers per shard, in the order of shards. All ranks call it.
  /// \param own  one row per own shard; rows have the same length on all ranks
  std::vector<std::vector<double>> gather_rows(const std::vector<std::vector<double>>& own);

 private:
  nn::FlatRange own_range(std::size_t group) const;
  std::vector<at::Tensor> parts_of(const std::vector<at::Tensor>& flat) const;
  std::vector<std::vector<double>> gather_squares(const std::vector<at::Tensor>& parts);

  comm::Group alone_;
  comm::Group* group_;
  nn::ShardLayout layout_;
  Sharding sharding_;
  std::vector<std::int64_t> own_shards_;
  std::vector<std::vector<std::int64_t>> bounds_;  // of the ranks, by parameter group
  GradientTree tree_;
};

}  // namespace evenkeel::train
