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
    struct Symbol {
      Id id;
      std::uint32_t previous, next;
    };
    struct Candidate {
      std::uint64_t rank_and_position, pair;
      Id merged;
    };
    std::vector<std::uint64_t> ranks;
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  explicit Merges(std::size_t count = 0);

  /// A pair that is added twice has the rank of the second call.
  void add(Id left, Id right, std::uint32_t rank, Id merged);

  /// Merges the pair of the smallest rank, the leftmost first, until no pair of `ids` has a merge.
  void apply(std::vector<Id>& ids, Scratch& scratch) const;

 private:
  struct Entry {
    std::uint64_t pair;
    std::uint32_t rank;
    Id merged;
  };
  static std::uint64_t pair_of(Id left, Id right) { return std::uint64_t{left} << 32 | right; }
  const Entry& find(std::uint64_t pair) const;
  std::uint64_t rank_and_id(Id left, Id right) const;
  void apply_short(std::vector<Id>& ids, Scratch& scratch) const;
  void apply_long(std::vector<Id>& ids, Scratch& scratch) const;
  void push(std::uint32_t position, Scratch& scratch) const;

  std::vector<Entry> entries_;  // open addressing; a power of two
  std::size_t count_ = 0;
};

}  // namespace evenkeel::tokenizer
