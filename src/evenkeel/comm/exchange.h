// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/comm/exchange_level.h"

namespace evenkeel::comm {

/// The number of ranks per machine, if the exchange can have two levels: each machine has as many
/// ranks as any other, with consecutive numbers, and the number is a power of two. Otherwise 1.
/// \param hosts  name of each rank's machine
int ranks_per_host(const std::vector<std::string>& hosts);

/// reduce_scatter and all_gather of all ranks. With several ranks on each of several machines in
/// two levels: among the ranks of a machine, and among equal places of the machines, so that a
/// machine sends no more bytes than in a ring. The ranks of a machine are a subtree of the binary
/// tree of sums, so the bits are those of one level.
class Exchange {
 public:
  /// \param per_host  of ranks_per_host()
  Exchange(const c10::intrusive_ptr<c10d::Backend>& backend, int per_host,
           const LevelOptions& options = {});

  /// This rank.
  int rank() const { return host_ * per_host_ + place_; }

  /// Arguments as in Group. Errors are those of the backend.
  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part);
  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds);

 private:
  using Pieces = std::vector<at::Tensor>;
  /// The pieces of the ranks of a machine, or of this place on all machines, out of those of all.
  Pieces pieces_of_host(const Pieces& all, int host) const;
  Pieces pieces_of_place(const Pieces& all) const;

  LevelOptions options_;
  int per_host_, hosts_;
  int host_, place_;                     // of this rank: its machine, and its number there
  ExchangeLevel first_;                  // one level: all ranks; two levels: those of this machine
  std::optional<ExchangeLevel> second_;  // two levels: the ranks of this place on all machines
};

}  // namespace evenkeel::comm
