// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/caching_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "evenkeel/memory/asan_poison.h"
#include "evenkeel/memory/huge_pages.h"
#include "evenkeel/memory/size_class.h"

namespace evenkeel::memory {

namespace {

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &deallocate, at::kCPU};
    const auto class_index = size_class(bytes);
    if (class_index >= kClasses) throw_out_of_memory(bytes);
    void* data = cached_block(class_index);
    if (data == nullptr) data = new_block(class_index);
    unpoison(data, bytes);
    count(class_bytes(class_index));
    return {data, data, &deallocate, at::kCPU};  // raw_allocate() requires context == data
  }

  c10::DeleterFnPtr raw_deleter() const override { return &deallocate; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  std::size_t reserved() const { return reserved_; }
  std::size_t allocated() const { return allocated_; }
  std::size_t peak() const { return peak_; }
  void reset_peak_stats() { peak_ = allocated_.load(); }

 private:
  /// The header before each block, in a cache line of its own. It finds the allocator of a bare
  /// data pointer. AddressSanitizer finds writes past the end of the block before and ahead of this
  /// one, because they land in the padding.
  struct alignas(kMinBlockBytes) Header {
    using Padding = std::array<std::byte, (kMinBlockBytes - 2 * sizeof(void*)) / 2>;
    Padding before;
    CachingAllocator* owner;
    std::size_t class_index;
    Padding after;
  };
  static_assert(sizeof(Header) == kMinBlockBytes && sizeof(std::size_t) == sizeof(void*));

  void* cached_block(std::size_t class_index) {
    const std::scoped_lock lock(mutex_);
    auto& free = free_[class_index];
    if (free.empty()) return nullptr;
    void* const data = free.back();
    free.pop_back();
    return data;
  }

  void* new_block(std::size_t class_index) {
    const auto lines = (sizeof(Header) + class_bytes(class_index) - 1) / kMinBlockBytes + 1;
    const auto bytes = lines * kMinBlockBytes;
    void* const block = pages_allocate(bytes);
    if (block == nullptr) throw_out_of_memory(bytes);
    reserved_ += bytes;
    auto* const header =
        new (block) Header{.before = {}, .owner = this, .class_index = class_index, .after = {}};
    poison(&header->before, sizeof header->before);
    poison(&header->after, sizeof header->after);
    poison(header + 1, bytes - sizeof(Header));
    return header + 1;
  }

  void* pages_allocate(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    return pages_.allocate(bytes);
  }

  [[noreturn]] static void throw_out_of_memory(std::size_t bytes) {
    C10_THROW_ERROR(OutOfMemoryError,
                    c10::str("[memory] the system has no block of ", bytes, " bytes"));
  }

  void count(std::size_t bytes) {
    const auto now = allocated_ += bytes;
    auto peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }

  static void deallocate(void* data) {
    if (data == nullptr) return;
    const auto* const header = static_cast<const Header*>(data) - 1;
    auto* const owner = header->owner;
    poison(data, class_bytes(header->class_index));
    owner->allocated_ -= class_bytes(header->class_index);
    const std::scoped_lock lock(owner->mutex_);
    owner->free_[header->class_index].push_back(data);
  }

  std::mutex mutex_;                               // of the next two
  std::array<std::vector<void*>, kClasses> free_;  // by size class
  HugePages pages_;
  std::atomic<std::size_t> reserved_ = 0;
  std::atomic<std::size_t> allocated_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

/// Never destroyed, because static tensors may outlive main().
CachingAllocator& caching_allocator() {
  static auto* const allocator = new CachingAllocator;
  return *allocator;
}

}  // namespace

void install_caching_allocator() {
  constexpr std::uint8_t kPriority = 1;
  c10::SetCPUAllocator(&caching_allocator(), kPriority);
}

std::size_t reserved_bytes() {
  return caching_allocator().reserved();
}

std::size_t allocated_bytes() {
  return caching_allocator().allocated();
}

std::size_t peak_allocated_bytes() {
  return caching_allocator().peak();
}

void reset_peak_stats() {
  caching_allocator().reset_peak_stats();
}

}  // namespace evenkeel::memory
