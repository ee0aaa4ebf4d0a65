// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "evenkeel/memory/asan_poison.h"

namespace evenkeel::memory {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// A chunk has room for several blocks of at most kLargestInChunk bytes; larger blocks get a chunk
/// of their own.
constexpr std::size_t kChunk = std::size_t{32} << 20, kLargestInChunk = kChunk / 4;
/// A smaller free range is given up, so that the list of free ranges stays short.
constexpr std::size_t kSmallestRange = 4096;

}  // namespace

HugePages::~HugePages() {
  for (void* const chunk : chunks_) std::free(chunk);
}

std::byte* HugePages::new_chunk(std::size_t bytes) {
  void* chunk = nullptr;
  if (::posix_memalign(&chunk, kHugePage, bytes) != 0) return nullptr;
  ::madvise(chunk, bytes, MADV_HUGEPAGE);  // the kernel may ignore this
  chunks_.push_back(chunk);
  return static_cast<std::byte*>(chunk);
}

void* HugePages::allocate(std::size_t bytes) {
  if (bytes > kLargestInChunk) return new_chunk(bytes);
  auto range = std::find_if(free_.begin(), free_.end(),
                            [&](const FreeRange& each) { return each.bytes >= bytes; });
  if (range == free_.end()) {
    std::erase_if(free_, [](const FreeRange& each) { return each.bytes < kSmallestRange; });
    auto* const chunk = new_chunk(kChunk);
    if (chunk == nullptr) return new_chunk(bytes);
    poison(chunk, kChunk);
    range = free_.insert(free_.end(), {chunk, kChunk});
  }
  auto* const block = range->begin;
  unpoison(block, bytes);
  range->begin += bytes;
  range->bytes -= bytes;
  return block;
}

}  // namespace evenkeel::memory
