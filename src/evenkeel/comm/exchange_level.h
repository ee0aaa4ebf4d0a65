// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdint>
#include <vector>

namespace evenkeel::comm {

/// Values [begin, begin + count) of a piece, as far as it has them: short pieces have fewer or
/// none.
at::Tensor slice_of(const at::Tensor& piece, std::int64_t begin, std::int64_t count);

/// How a rank sums the pieces that it receives. The order, and so the bits, are the same.
enum class RowSum {
  kernel,             // kernels::cpu::sum_of_rows(): one pass, in CPU memory
  tensor_operations,  // additions of whole rows, on any device
};

/// How an exchange is cut and summed.
struct LevelOptions {
  /// Bytes that a rank receives at once, from all others together. Smaller ones cost more messages;
  /// larger ones cost a sum more memory, and start it later.
  std::int64_t chunk_bytes = std::int64_t{4} << 20;
  RowSum sum = RowSum::kernel;
};

/// reduce_scatter and all_gather among some ranks of a group, by sends and receives alone. Every
/// member sends straight to every other one. The backend adds nothing: each rank sums what it
/// receives, in the order of the binary tree, so the bits depend neither on the network nor on the
/// backend. Errors are those of the backend. A backend that supports coalescing gets the sends and
/// receives of a chunk as one group, as NCCL needs them.
class ExchangeLevel {
 public:
  /// \param members  ranks of the group, this one among them; positions below are places in it
  ExchangeLevel(c10::intrusive_ptr<c10d::Backend> backend, std::vector<int> members,
                const LevelOptions& options = {});

  /// \param pieces  of this rank's values, by position; any length
  /// \param part    receives the sum of all members' pieces at this position; may be that piece
  void reduce_scatter(const std::vector<at::Tensor>& pieces, const at::Tensor& part);
  /// \param pieces  by position: that of this rank is sent, those of other members are overwritten
  void all_gather(const std::vector<at::Tensor>& pieces);

 private:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

  /// How an exchange is cut; 0 chunks without values.
  struct Chunks {
    std::int64_t count, columns;
  };
  Chunks chunks_of(const std::vector<at::Tensor>& pieces) const;

  void send(const at::Tensor& values, int to, Works& works);
  void receive(const at::Tensor& values, int from, Works& works);
  /// sum = the tree over members of received_[which]; the row of this rank is `own`.
  void add_up(std::size_t which, const at::Tensor& own, const at::Tensor& sum);
  /// Posts what this rank exchanges with all others: sent(to) and received(from) are tensors.
  template <typename Sent, typename Received>
  void begin_chunk(const Sent& sent, const Received& received, Works& works);
  /// Calls begin(chunk, works) and, when those works have ended, end(chunk); the next chunk travels
  /// meanwhile.
  template <typename Begin, typename End>
  void pipeline(std::int64_t chunks, const Begin& begin, const End& end);
  void wait_for(Works& works);

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::vector<int> members_;
  LevelOptions options_;
  int rank_, ranks_;        // position of this rank, number of members
  int tag_ = 0;             // of the next chunk; equal on all members
  Works works_[2];          // in flight; members, since an error must not free their buffers
  at::Tensor received_[2];  // [ranks, columns] each
};

}  // namespace evenkeel::comm
