// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace evenkeel::emulated {

/// Checks every access of a kernel to memory, as compute-sanitizer does on a card: that it is
/// within a tensor or within shared memory, that shared memory was written before it is read, and
/// that no two threads access one place, one of them writing, without a barrier between them.
///
/// memory_hooks.cpp calls it for each access of code that is compiled with -fsanitize=thread.
class Checker {
 public:
  /// The thread that runs now, and its stack.
  struct Accessor {
    unsigned thread = 0;
    unsigned warp_syncs = 0;  // number of __syncwarp() that it has passed
    const char* stack_begin = nullptr;
    const char* stack_end = nullptr;
  };

  /// Memory of the card. By any thread of the operating system, also while no kernel runs.
  void add_tensor(const void* begin, std::size_t bytes);
  void remove_tensor(const void* begin);

  /// \param arguments  of the kernel: all threads read them
  void begin_launch(const void* arguments, std::size_t bytes);
  void begin_block();
  /// After a barrier of the block.
  void begin_interval() { ++interval_; }
  void set_accessor(const Accessor& accessor);

  /// A variable in the memory of the block, until the next block begins.
  void add_shared(const char* name, const void* begin, std::size_t bytes);

  /// One access of the thread that runs now.
  /// \param code  address of the instruction after it
  /// \return whether it is right; if not, complaint() has the reason
  bool is_right(const void* address, std::size_t bytes, bool is_write, const void* code) {
    const auto* const at = static_cast<const char*>(address);
    if (at >= accessor_.stack_begin && at < accessor_.stack_end) return true;
    return is_right_elsewhere(at, bytes, is_write, code);
  }
  const std::string& complaint() const { return complaint_; }

 private:
  /// The last write and the last read: interval << 32 | thread << 16 | warp_syncs.
  struct Cell {
    std::uint64_t write = 0, read = 0;
    std::uint32_t read_before = 0;  // interval of the last read by a block before that of `read`
    const void *write_code = nullptr, *read_code = nullptr;
  };
  /// A tensor or a variable, with a cell for each 2^shift bytes: the smallest access until now.
  struct Region {
    const char* begin = nullptr;
    std::size_t bytes = 0;
    const char* name = nullptr;  // of shared memory; null for a tensor
    unsigned shift = 3;
    std::vector<Cell> cells = {};
    bool contains(const char* at) const { return at >= begin && at < begin + bytes; }
    bool is_shared() const { return name != nullptr; }
    std::string what() const;
    std::string size() const;
    void refine(std::size_t offset, std::size_t size);
  };
  static constexpr unsigned kRecentShift = 9;

  bool is_right_elsewhere(const char* at, std::size_t bytes, bool is_write, const void* code);
  Region* region_of(const char* at);
  bool are_right(Region& region, std::size_t offset, std::size_t bytes, bool is_write,
                 const void* code);
  bool conflicts(const Region& region, std::uint64_t stamp) const;
  void note_read(Cell& cell, const void* code) const;
  std::string outside(const char* at) const;
  std::string race(const Region& region, std::uint64_t stamp, const char* how,
                   const void* code) const;

  mutable std::mutex mutex_;
  std::map<const char*, Region> tensors_;
  std::deque<Region> shared_;  // of the blocks of a launch: the first shared_count_ are in use
  std::size_t shared_count_ = 0;
  std::array<Region*, 256> recent_{};
  Accessor accessor_;
  std::uint64_t stamp_ = 0;  // of the accessor
  const char* arguments_ = nullptr;
  std::size_t argument_bytes_ = 0;
  std::uint32_t interval_ = 1, first_of_launch_ = 1, first_of_block_ = 1;
  std::string complaint_;
};

inline Checker& checker() {
  static constinit Checker* the = nullptr;  // never destroyed: static tensors outlive main()
  if (the == nullptr) [[unlikely]] {
    the = new Checker;
  }
  return *the;
}

/// file:line of an instruction, and of the calls that are inlined there.
/// \param code  address of the instruction after it
std::string source_of(const void* code);

}  // namespace evenkeel::emulated
