// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/merges.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

namespace {

constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
constexpr std::uint64_t kNoRank = ~std::uint64_t{0};
constexpr std::uint64_t kRankBits = 0xffffffff00000000;
constexpr std::uint32_t kEnd = 0xffffffff;
constexpr std::size_t kMinEntries = 16;
constexpr std::size_t kFilterBits = 8;  // for each entry
// Up to this many symbols a scan for the smallest rank is faster than a heap.
constexpr std::size_t kShort = 24;

/// Fibonacci hashing: the constant is 2^64 / golden ratio.
std::uint64_t pair_hash(std::uint64_t pair) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const auto mixed = (pair ^ pair >> 32) * kGolden;
  return mixed ^ mixed >> 29;
}

}  // namespace

Merges::Merges(std::size_t count)
    : entries_(std::bit_ceil(std::max(kMinEntries, count * 2)), Entry{kNoPair, kNoRank}),
      filter_(entries_.size() * kFilterBits / 64) {}

void Merges::add(Id left, Id right, std::uint32_t rank, Id merged) {
  EK_ASSERT(count_ < entries_.size() / 2);
  const auto pair = pair_of(left, right);
  const auto hash = pair_hash(pair);
  auto at = hash & (entries_.size() - 1);
  while (entries_[at].pair != kNoPair && entries_[at].pair != pair) {
    at = (at + 1) & (entries_.size() - 1);
  }
  if (entries_[at].pair == kNoPair) ++count_;
  entries_[at] = {pair, std::uint64_t{rank} << 32 | merged};
  filter_[hash >> 6 & (filter_.size() - 1)] |= std::uint64_t{1} << (hash & 63);
}

std::uint64_t Merges::rank_and_id(Id left, Id right) const {
  const auto pair = pair_of(left, right);
  const auto hash = pair_hash(pair);
  if ((filter_[hash >> 6 & (filter_.size() - 1)] >> (hash & 63) & 1) == 0) return kNoRank;
  auto at = hash & (entries_.size() - 1);
  while (entries_[at].pair != pair && entries_[at].pair != kNoPair) {
    at = (at + 1) & (entries_.size() - 1);
  }
  return entries_[at].rank_and_id;
}

void Merges::apply(std::vector<Id>& ids, Scratch& scratch) const {
  if (ids.size() < 2) return;
  return ids.size() <= kShort ? apply_short(ids, scratch) : apply_long(ids, scratch);
}

void Merges::apply_short(std::vector<Id>& ids, Scratch& scratch) const {
  auto& ranks = scratch.ranks;
  auto count = ids.size();
  ranks.resize(count);
  for (std::size_t at = 0; at + 1 < count; ++at) ranks[at] = rank_and_id(ids[at], ids[at + 1]);
  while (count > 1) {
    std::size_t best = 0;
    auto least = ranks[0] & kRankBits;  // of equal ranks the leftmost
    for (std::size_t at = 1; at + 1 < count; ++at) {
      best = ranks[at] < least ? at : best;
      least = std::min(least, ranks[at] & kRankBits);
    }
    if (ranks[best] == kNoRank) break;
    ids[best] = static_cast<Id>(ranks[best]);
    std::copy(ids.data() + best + 2, ids.data() + count, ids.data() + best + 1);
    std::copy(ranks.data() + best + 1, ranks.data() + count - 1, ranks.data() + best);
    --count;
    if (best + 1 < count) ranks[best] = rank_and_id(ids[best], ids[best + 1]);
    if (best > 0) ranks[best - 1] = rank_and_id(ids[best - 1], ids[best]);
  }
  ids.resize(count);
}

/// Finds the rank of the pair at a position, and puts it on the heap.
void Merges::enter(std::uint32_t position, const std::vector<Id>& ids, Scratch& scratch) const {
  const auto next = scratch.links[position].next;
  auto& rank = scratch.ranks[position];
  rank = next == kEnd ? kNoRank : rank_and_id(ids[position], ids[next]);
  if (rank == kNoRank) return;
  scratch.heap.push_back(rank >> 32 << 32 | position);
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
}

void Merges::apply_long(std::vector<Id>& ids, Scratch& scratch) const {
  auto& [ranks, links, heap] = scratch;
  EK_ASSERT(ids.size() < kEnd);
  const auto count = static_cast<std::uint32_t>(ids.size());
  ranks.resize(count);
  links.resize(count);
  heap.clear();
  for (std::uint32_t at = 0; at < count; ++at) {
    links[at] = {at == 0 ? kEnd : at - 1, at + 1 == count ? kEnd : at + 1};
    ranks[at] = at + 1 == count ? kNoRank : rank_and_id(ids[at], ids[at + 1]);
    if (ranks[at] != kNoRank) heap.push_back(ranks[at] >> 32 << 32 | at);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    const auto best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto position = static_cast<std::uint32_t>(best);
    // A pair that was merged, or has a new neighbor, has another rank by now.
    if (ranks[position] >> 32 != best >> 32) continue;
    ids[position] = static_cast<Id>(ranks[position]);
    const auto [previous, right] = links[position];
    const auto next = links[right].next;
    ranks[right] = kNoRank;
    links[position].next = next;
    if (next != kEnd) links[next].previous = position;
    enter(position, ids, scratch);
    if (previous != kEnd) enter(previous, ids, scratch);
  }
  std::size_t kept = 0;
  for (std::uint32_t at = 0; at != kEnd; at = links[at].next) ids[kept++] = ids[at];
  ids.resize(kept);
}

}  // namespace evenkeel::tokenizer
