// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace evenkeel::memory {

/// An arena of huge pages (2 MiB), which hands out blocks of all sizes one after the other. With
/// pages of 4 KiB, the tensors of a small model need more entries than the TLB has, and in a
/// virtual machine a miss is a nested page-table walk. The first write to a huge page takes all of
/// it. Blocks live as long as the arena. Not thread-safe. AddressSanitizer takes what is not handed
/// out as out of bounds.
class HugePages {
 public:
  HugePages() = default;
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  /// \param bytes  a multiple of 64
  /// \return aligned to 64 bytes; nullptr if the system has no memory
  void* allocate(std::size_t bytes);

 private:
  struct FreeRange {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };

  std::byte* new_chunk(std::size_t bytes);

  std::vector<void*> chunks_;
  std::vector<FreeRange> free_;  // at the ends of chunks
};

}  // namespace evenkeel::memory
