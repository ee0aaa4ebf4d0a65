// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace evenkeel::emulated {

/// What fresh memory holds: NaN in every floating-point type, -1 in every integer.
constexpr int kPoison = 0xFF;

/// The shared memory of one block after the other, poisoned for each.
class SharedMemory {
 public:
  SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  void begin_block(std::size_t dynamic_bytes);

  /// Places a static variable of the block; null without room.
  void* variable(const char* name, std::size_t bytes, std::size_t alignment);
  void* dynamic() const;

  /// Addresses as numbers of 32 bits; an address elsewhere is above all of them.
  std::uint32_t offset_of(const void* pointer) const;
  void* at(std::uint32_t offset) const { return arena_ + offset; }

  /// Of the block: its number since the program began, and its variables.
  std::size_t block() const { return block_; }
  std::size_t static_bytes() const { return static_bytes_; }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  static constexpr std::size_t kOddOffset = 16;  // dynamic memory is aligned to 16 bytes, no better
  void* add(const char* name, std::size_t offset, std::size_t bytes);

  char* arena_ = nullptr;
  std::size_t block_ = 0, used_ = 0, static_bytes_ = 0, dynamic_bytes_ = 0;
};

}  // namespace evenkeel::emulated
