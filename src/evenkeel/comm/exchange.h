// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdint>
#include <vector>

namespace evenkeel::comm {

/// reduce_scatter and all_gather of sends and receives alone. The engine adds nothing: each rank
/// sums what it receives, in the order of the binary tree, so the bits depend neither on the
/// network nor on the engine. Arguments as in Group. Errors are those of the engine.
class Exchange {
 public:
  explicit Exchange(c10::intrusive_ptr<c10d::Backend> backend);

  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part);
  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds);

 private:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

  /// Values [begin, begin + columns) of each rank's piece travel at once.
  struct Chunk {
    std::int64_t begin, columns;
  };

  /// How an exchange is cut; 0 chunks without values.
  struct Chunks {
    std::int64_t count, columns;
  };
  Chunks chunks_of(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) const;

  void send(const at::Tensor& values, int to, Works& works);
  void receive(const at::Tensor& values, int from, Works& works);
  void begin_chunk(const at::Tensor& whole, const std::vector<std::int64_t>& bounds, Chunk chunk,
                   const at::Tensor& received, Works& works);
  void wait_for(Works& works);
  void next_tag();

  c10::intrusive_ptr<c10d::Backend> backend_;
  int rank_, ranks_;
  int tag_ = 0;             // of the next chunk; equal on all ranks
  Works works_[2];          // in flight; members, since an error must not free their buffers
  at::Tensor received_[2];  // [ranks, columns] each
};

}  // namespace evenkeel::comm
