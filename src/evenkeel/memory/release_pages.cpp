// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/release_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace evenkeel::memory {

void release_pages(const at::Tensor& values) {
  TORCH_INTERNAL_ASSERT(values.is_contiguous());
  if (!values.is_cpu() || values.numel() == 0) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(values.mutable_data_ptr());
  const auto first = (begin + page - 1) / page * page,
             end = (begin + values.nbytes()) / page * page;
  if (first >= end) return;
  // The kernel may refuse: the memory then stays in use.
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace evenkeel::memory
