// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/release_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace evenkeel::memory {

void release_pages(const at::Tensor& values) {
  TORCH_INTERNAL_ASSERT(values.is_contiguous());
  if (!values.is_cpu() || values.numel() == 0) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const begin = static_cast<std::byte*>(values.mutable_data_ptr());
  const auto skipped = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (values.nbytes() < skipped + page) return;
  // The kernel may refuse: the memory then stays in use.
  ::madvise(begin + skipped, (values.nbytes() - skipped) / page * page, MADV_DONTNEED);
}

}  // namespace evenkeel::memory
