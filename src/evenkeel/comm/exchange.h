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

  /// How an exchange is cut; 0 chunks without values.
  struct Chunks {
    std::int64_t count, columns;
  };
  Chunks chunks_of(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) const;

  void send(const at::Tensor& values, int to, Works& works);
  void receive(const at::Tensor& values, int from, Works& works);
  /// Posts what this rank exchanges with all others: sent(to) and received(from) are tensors.
  template <typename Sent, typename Received>
  void begin_chunk(const Sent& sent, const Received& received, Works& works);
  /// Calls begin(chunk, works) and, when those works have ended, end(chunk); the next chunk travels
  /// meanwhile.
  template <typename Begin, typename End>
  void pipeline(std::int64_t chunks, const Begin& begin, const End& end);
  void wait_for(Works& works);

  c10::intrusive_ptr<c10d::Backend> backend_;
  int rank_, ranks_;
  int tag_ = 0;             // of the next chunk; equal on all ranks
  Works works_[2];          // in flight; members, since an error must not free their buffers
  at::Tensor received_[2];  // [ranks, columns] each
};

}  // namespace evenkeel::comm
