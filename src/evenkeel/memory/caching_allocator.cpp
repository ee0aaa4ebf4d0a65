// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/caching_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "evenkeel/memory/poison.h"
#include "evenkeel/memory/size_class.h"

namespace evenkeel::memory {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &give_back, at::kCPU};
    const auto of_class = size_class(bytes);
    if (of_class >= kClasses) refuse(bytes);
    void* data = cached(of_class);
    if (data == nullptr) data = fresh(of_class);
    permit(data, bytes);
    count(class_bytes(of_class));
    return {data, data, &give_back, at::kCPU};  // raw_allocate() insists on context == data
  }

  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  std::size_t taken() const { return taken_; }
  std::size_t in_use() const { return in_use_; }
  std::size_t peak() const { return peak_; }
  void reset_peak() { peak_ = in_use_.load(); }

 private:
  /// Stands before the data of every block, so that a bare pointer finds its way home.
  struct alignas(kSmallest) Header {
    CachingAllocator* home;
    std::size_t of_class;
  };

  void* cached(std::size_t of_class) {
    const std::scoped_lock lock(mutex_);
    auto& free = free_[of_class];
    if (free.empty()) return nullptr;
    void* const data = free.back();
    free.pop_back();
    return data;
  }

  void* fresh(std::size_t of_class) {
    const auto bytes = sizeof(Header) + class_bytes(of_class);
    const bool huge = bytes >= kHugePage;
    void* block = nullptr;
    if (::posix_memalign(&block, huge ? kHugePage : alignof(Header), bytes) != 0) {
      refuse(bytes);
    }
    if (huge) ::madvise(block, bytes, MADV_HUGEPAGE);  // advice: it may be refused
    taken_ += bytes;
    void* const data = new (block) Header{.home = this, .of_class = of_class} + 1;
    forbid(data, class_bytes(of_class));
    return data;
  }

  [[noreturn]] static void refuse(std::size_t bytes) {
    C10_THROW_ERROR(OutOfMemoryError,
                    c10::str("[memory] the system has no block of ", bytes, " bytes"));
  }

  void count(std::size_t bytes) {
    const auto now = in_use_ += bytes;
    auto peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }

  static void give_back(void* data) {
    if (data == nullptr) return;
    const auto [home, of_class] = *(static_cast<const Header*>(data) - 1);
    forbid(data, class_bytes(of_class));
    home->in_use_ -= class_bytes(of_class);
    const std::scoped_lock lock(home->mutex_);
    home->free_[of_class].push_back(data);
  }

  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;  // by class; guarded by mutex_
  std::atomic<std::size_t> taken_ = 0;
  std::atomic<std::size_t> in_use_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

/// Never destroyed: tensors in static storage may outlive main().
CachingAllocator& the_allocator() {
  static auto* const allocator = new CachingAllocator;
  return *allocator;
}

}  // namespace

void cache_cpu_tensors() {
  constexpr std::uint8_t kAboveTheDefault = 1;
  c10::SetCPUAllocator(&the_allocator(), kAboveTheDefault);
}

std::size_t cached_bytes() {
  return the_allocator().taken();
}

std::size_t bytes_in_use() {
  return the_allocator().in_use();
}

std::size_t peak_bytes_in_use() {
  return the_allocator().peak();
}

void reset_peak() {
  the_allocator().reset_peak();
}

}  // namespace evenkeel::memory
