// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::tokenizer {

using Id = std::uint32_t;

inline constexpr Id kNoId = 0xffffffff;

/// The merges of a BPE: pair of ids -> rank and id of the merged token.
class Merges {
 public:
  /// Working memory of one thread.
  struct Scratch {
    struct Links {
      std::uint32_t previous, next;
    };
    std::vector<std::uint64_t> ranks;  // of the pair that begins at each symbol, and its merged id
    std::vector<Links> links;
    std::vector<std::uint64_t> heap;  // rank and position of pairs
  };

  explicit Merges(std::size_t count = 0);

  /// A pair that is added twice has the rank of the second call. Pairs may have equal ranks.
  void add(Id left, Id right, std::uint32_t rank, Id merged);

  /// Merges the pair of the smallest rank, the leftmost first, until no pair of `ids` has a merge.
  void apply(std::vector<Id>& ids, Scratch& scratch) const;

 private:
  struct Entry {
    std::uint64_t pair, rank_and_id;
  };
  static std::uint64_t pair_of(Id left, Id right) { return std::uint64_t{left} << 32 | right; }
  std::uint64_t rank_and_id(Id left, Id right) const;
  void apply_short(std::vector<Id>& ids, Scratch& scratch) const;
  void apply_long(std::vector<Id>& ids, Scratch& scratch) const;
  void enter(std::uint32_t position, const std::vector<Id>& ids, Scratch& scratch) const;

  std::vector<Entry> entries_;  // open addressing; a power of two
  // A bit for each hash of a pair, sixteen for each merge: most pairs have no merge, which this
  // part of the table shows from the second-level cache.
  std::vector<std::uint64_t> filter_;
  std::size_t count_ = 0;
};

}  // namespace evenkeel::tokenizer
