// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/merges.h"

#include <algorithm>
#include <bit>

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

namespace {

constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
constexpr std::uint64_t kNoRank = ~std::uint64_t{0};
constexpr std::uint32_t kEnd = 0xffffffff;
constexpr std::size_t kMinEntries = 16;
// Up to this many symbols a scan for the smallest rank is faster than a heap.
constexpr std::size_t kShort = 64;

/// \source M. O'Neill's survey of multiplicative hashing; the constant is 2^64 / golden ratio
std::size_t pair_hash(std::uint64_t pair) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const auto mixed = (pair ^ pair >> 32) * kGolden;
  return static_cast<std::size_t>(mixed ^ mixed >> 29);
}

/// The smallest rank on top, of equal ranks the leftmost.
bool is_later(const Merges::Scratch::Candidate& a, const Merges::Scratch::Candidate& b) {
  return a.rank_and_position > b.rank_and_position;
}

}  // namespace

Merges::Merges(std::size_t count)
    : entries_(std::bit_ceil(std::max(kMinEntries, count * 2)), Entry{kNoPair, 0, 0}) {}

void Merges::add(Id left, Id right, std::uint32_t rank, Id merged) {
  EK_ASSERT(count_ < entries_.size() / 2);
  const auto pair = pair_of(left, right);
  auto at = pair_hash(pair) & (entries_.size() - 1);
  while (entries_[at].pair != kNoPair && entries_[at].pair != pair) {
    at = (at + 1) & (entries_.size() - 1);
  }
  if (entries_[at].pair == kNoPair) ++count_;
  entries_[at] = {pair, rank, merged};
}

const Merges::Entry& Merges::find(std::uint64_t pair) const {
  auto at = pair_hash(pair) & (entries_.size() - 1);
  while (entries_[at].pair != pair && entries_[at].pair != kNoPair) {
    at = (at + 1) & (entries_.size() - 1);
  }
  return entries_[at];
}

std::uint64_t Merges::rank_and_id(Id left, Id right) const {
  const auto& found = find(pair_of(left, right));
  return found.pair == kNoPair ? kNoRank : std::uint64_t{found.rank} << 32 | found.merged;
}

void Merges::apply(std::vector<Id>& ids, Scratch& scratch) const {
  if (ids.size() < 2) return;
  return ids.size() <= kShort ? apply_short(ids, scratch) : apply_long(ids, scratch);
}

void Merges::apply_short(std::vector<Id>& ids, Scratch& scratch) const {
  auto& ranks = scratch.ranks;  // of the pair that begins at each symbol
  auto count = ids.size();
  ranks.resize(count);
  for (std::size_t at = 0; at + 1 < count; ++at) ranks[at] = rank_and_id(ids[at], ids[at + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t at = 1; at + 1 < count; ++at) best = ranks[at] < ranks[best] ? at : best;
    if (ranks[best] == kNoRank) break;
    ids[best] = static_cast<Id>(ranks[best]);
    std::copy(&ids[best] + 2, ids.data() + count, &ids[best] + 1);
    std::copy(&ranks[best] + 1, ranks.data() + count - 1, &ranks[best]);
    --count;
    if (best + 1 < count) ranks[best] = rank_and_id(ids[best], ids[best + 1]);
    if (best > 0) ranks[best - 1] = rank_and_id(ids[best - 1], ids[best]);
  }
  ids.resize(count);
}

void Merges::push(std::uint32_t position, Scratch& scratch) const {
  const auto& symbol = scratch.symbols[position];
  if (symbol.next == kEnd) return;
  const auto pair = pair_of(symbol.id, scratch.symbols[symbol.next].id);
  const auto& found = find(pair);
  if (found.pair == kNoPair) return;
  scratch.heap.push_back({std::uint64_t{found.rank} << 32 | position, pair, found.merged});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), is_later);
}

void Merges::apply_long(std::vector<Id>& ids, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto count = static_cast<std::uint32_t>(ids.size());
  EK_ASSERT(ids.size() < kEnd);
  symbols.resize(count);
  heap.clear();
  for (std::uint32_t at = 0; at < count; ++at) {
    symbols[at] = {ids[at], at == 0 ? kEnd : at - 1, at + 1 == count ? kEnd : at + 1};
  }
  for (std::uint32_t at = 0; at + 1 < count; ++at) push(at, scratch);
  while (!heap.empty()) {
    const auto best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), is_later);
    heap.pop_back();
    const auto position = static_cast<std::uint32_t>(best.rank_and_position);
    auto& symbol = symbols[position];
    // A candidate is void once one of its symbols was merged. A removed symbol has no id.
    if (symbol.id == kNoId || symbol.next == kEnd) continue;
    auto& right = symbols[symbol.next];
    if (pair_of(symbol.id, right.id) != best.pair) continue;
    symbol.id = best.merged;
    symbol.next = right.next;
    right.id = kNoId;
    if (symbol.next != kEnd) symbols[symbol.next].previous = position;
    push(position, scratch);
    if (symbol.previous != kEnd) push(symbol.previous, scratch);
  }
  ids.clear();
  for (std::uint32_t at = 0; at != kEnd; at = symbols[at].next) ids.push_back(symbols[at].id);
}

}  // namespace evenkeel::tokenizer
