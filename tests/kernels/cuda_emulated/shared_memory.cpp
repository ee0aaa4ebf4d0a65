// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/shared_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/sanitizers.h"

namespace evenkeel::emulated {

namespace {

constexpr std::size_t kGap = 32;  // between variables, so that an index beyond the end is found

}  // namespace

SharedMemory::SharedMemory() {
  void* const memory =
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  arena_ = static_cast<char*>(memory);
}

SharedMemory::~SharedMemory() {
  make_accessible(arena_, kArenaBytes);
  munmap(arena_, kArenaBytes);
}

void SharedMemory::begin_block(std::size_t dynamic_bytes) {
  ++block_;
  make_accessible(arena_, kArenaBytes);
  std::memset(arena_, kPoison, used_);
  std::memset(arena_ + kDynamicOffset, kPoison, dynamic_bytes + 2 * kGap);
  make_inaccessible(arena_, kArenaBytes);
  used_ = static_bytes_ = 0;
  dynamic_bytes_ = dynamic_bytes;
  checker().begin_block();
  if (dynamic_bytes != 0) add("memory of the launch", kDynamicOffset + kOddOffset, dynamic_bytes);
}

void* SharedMemory::variable(const char* name, std::size_t bytes, std::size_t alignment) {
  static_bytes_ += bytes;
  // No better aligned than the program requires.
  const std::size_t step = 2 * alignment;
  const std::size_t offset = (used_ + kGap + step - 1) / step * step + alignment;
  used_ = offset + bytes + kGap;
  return used_ > kDynamicOffset ? nullptr : add(name, offset, bytes);
}

void* SharedMemory::dynamic() const {
  return arena_ + kDynamicOffset + kOddOffset;
}

std::uint32_t SharedMemory::offset_of(const void* pointer) const {
  const auto offset = static_cast<const char*>(pointer) - arena_;
  const bool is_inside = offset >= 0 && offset < static_cast<std::ptrdiff_t>(kArenaBytes);
  return static_cast<std::uint32_t>(is_inside ? offset : std::ptrdiff_t{0x7FFFFFF0});
}

void* SharedMemory::add(const char* name, std::size_t offset, std::size_t bytes) {
  make_accessible(arena_ + offset, bytes);
  checker().add_shared(name, arena_ + offset, bytes);
  return arena_ + offset;
}

}  // namespace evenkeel::emulated
