// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/checker.h"

#include <algorithm>

#include "kernels/cuda_emulated/block.h"

extern "C" const char __executable_start, end;  // of the program's own constants (linker)

namespace evenkeel::emulated {

namespace {

constexpr std::uint64_t kManyWarps = 0xFFFF, kManyOfWarp = 0x8000;
constexpr std::size_t kNear = 4096;

std::uint64_t thread_of(std::uint64_t stamp) {
  return stamp >> 16 & 0xFFFF;
}
std::uint64_t interval_of(std::uint64_t stamp) {
  return stamp >> 32;
}
/// The warp of the threads of a stamp, or kManyWarps.
std::uint64_t warp_of(std::uint64_t stamp) {
  const auto thread = thread_of(stamp);
  if (thread == kManyWarps) return kManyWarps;
  return (thread & kManyOfWarp) != 0 ? thread & ~kManyOfWarp : thread / kLanes;
}

std::string bytes_text(std::size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

}  // namespace

std::string Checker::Region::what() const {
  return is_shared() ? "shared " + std::string(name) : "a tensor";
}

std::string Checker::Region::size() const {
  return what() + " of " + bytes_text(bytes);
}

/// Splits the cells until an access of this size has cells of its own.
void Checker::Region::refine(std::size_t offset, std::size_t size) {
  if (cells.empty()) [[unlikely]] {
    cells.resize((bytes >> shift) + 1);
  }
  while (((offset | size) & ((std::size_t{1} << shift) - 1)) != 0) {
    std::vector<Cell> finer(2 * cells.size());
    for (std::size_t i = 0; i < finer.size(); ++i) finer[i] = cells[i / 2];
    cells = std::move(finer);
    --shift;
  }
}

void Checker::add_tensor(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto* const at = static_cast<const char*>(begin);
  tensors_[at] = {.begin = at, .bytes = bytes};
}

void Checker::remove_tensor(const void* begin) {
  const std::lock_guard lock(mutex_);
  recent_.fill(nullptr);
  tensors_.erase(static_cast<const char*>(begin));
}

void Checker::begin_launch(const void* arguments, std::size_t bytes) {
  arguments_ = static_cast<const char*>(arguments);
  argument_bytes_ = bytes;
  first_of_launch_ = ++interval_;
  shared_.clear();
  recent_.fill(nullptr);
}

void Checker::begin_block() {
  first_of_block_ = ++interval_;
  shared_count_ = 0;
}

void Checker::set_accessor(const Accessor& accessor) {
  accessor_ = accessor;
  stamp_ = std::uint64_t{interval_} << 32 | std::uint64_t{accessor.thread} << 16 |
           (accessor.warp_syncs & 0xFFFF);
}

void Checker::add_shared(const char* name, const void* begin, std::size_t bytes) {
  if (shared_count_ == shared_.size()) shared_.emplace_back();
  Region& region = shared_[shared_count_++];
  const auto* const at = static_cast<const char*>(begin);
  if (region.begin == at && region.bytes == bytes) return;  // as in the block before
  region = {.begin = at, .bytes = bytes, .name = name};
  recent_.fill(nullptr);
}

Checker::Region* Checker::region_of(const char* at) {
  Region*& recent = recent_[reinterpret_cast<std::uintptr_t>(at) >> kRecentShift & 0xFF];
  if (recent != nullptr && recent->contains(at)) return recent;
  for (std::size_t i = 0; i < shared_count_; ++i) {
    if (shared_[i].contains(at)) return recent = &shared_[i];
  }
  const std::lock_guard lock(mutex_);
  const auto next = tensors_.upper_bound(at);
  if (next == tensors_.begin() || !std::prev(next)->second.contains(at)) return nullptr;
  return recent = &std::prev(next)->second;
}

bool Checker::is_right_elsewhere(const char* at, std::size_t bytes, bool is_write,
                                 const void* code) {
  const bool is_constant = at >= &__executable_start && at < &end;
  const bool is_argument = at >= arguments_ && at < arguments_ + argument_bytes_;
  if (!is_write && (is_constant || is_argument)) return true;
  const auto text = [&] { return (is_write ? "writes " : "reads ") + bytes_text(bytes); };
  auto* const region = region_of(at);
  if (region == nullptr) {
    complaint_ = text() + outside(at);
    return false;
  }
  const auto offset = static_cast<std::size_t>(at - region->begin);
  if (offset + bytes > region->bytes) {
    complaint_ = text() + " across the end of " + region->size();
    return false;
  }
  region->refine(offset, bytes);
  return are_right(*region, offset, bytes, is_write, code);
}

/// Where an address is that is in no memory of the card.
std::string Checker::outside(const char* at) const {
  if (is_fiber_stack(at)) return " of a local variable of another thread";
  const auto near = [&](const Region& region) -> std::string {
    if (at < region.begin && at + kNear > region.begin) {
      return ", " + bytes_text(static_cast<std::size_t>(region.begin - at)) +
             " before the start of " + region.size();
    }
    const char* const last = region.begin + region.bytes;
    if (at < last || at >= last + kNear) return {};
    return ", " + bytes_text(static_cast<std::size_t>(at - last)) + " after the end of " +
           region.size();
  };
  for (std::size_t i = 0; i < shared_count_; ++i) {
    if (auto found = near(shared_[i]); !found.empty()) return found;
  }
  const std::lock_guard lock(mutex_);
  const auto next = tensors_.upper_bound(at);
  std::string found;
  if (next != tensors_.begin()) found = near(std::prev(next)->second);
  if (found.empty() && next != tensors_.end()) found = near(next->second);
  return found.empty() ? " where no tensor is" : found;
}

/// Whether an earlier access may happen at the same time as one of the thread that runs now.
bool Checker::conflicts(const Region& region, std::uint64_t stamp) const {
  if (interval_of(stamp) < first_of_launch_) return false;
  if (interval_of(stamp) < first_of_block_) return !region.is_shared();  // another block
  if (interval_of(stamp) < interval_ || thread_of(stamp) == accessor_.thread) return false;
  const bool same_warp = warp_of(stamp) == accessor_.thread / kLanes;
  return !same_warp || (stamp & 0xFFFF) == (stamp_ & 0xFFFF);
}

void Checker::note_read(Cell& cell, const void* code) const {
  auto stamp = stamp_;
  if (interval_of(cell.read) < first_of_block_) {
    cell.read_before = static_cast<std::uint32_t>(interval_of(cell.read));
  }
  const bool other =
      interval_of(cell.read) == interval_ && thread_of(cell.read) != accessor_.thread;
  if (other && warp_of(cell.read) != accessor_.thread / kLanes) {
    stamp |= kManyWarps << 16;
  } else if (other && (cell.read & 0xFFFF) == (stamp & 0xFFFF)) {
    stamp = (stamp & ~(kManyWarps << 16)) | (kManyOfWarp | accessor_.thread / kLanes) << 16;
  }
  cell.read = stamp;
  cell.read_code = code;
}

bool Checker::are_right(Region& region, std::size_t offset, std::size_t bytes, bool is_write,
                        const void* code) {
  const char* const verb = is_write ? "writes " : "reads ";
  Cell* const last = region.cells.data() + ((offset + bytes - 1) >> region.shift);
  for (Cell* cell = region.cells.data() + (offset >> region.shift); cell <= last; ++cell) {
    if (region.is_shared() && !is_write && interval_of(cell->write) < first_of_block_) {
      complaint_ = verb + region.what() + ", byte " + std::to_string(offset) +
                   ", which no thread of the block has written";
      return false;
    }
    if (cell->write != stamp_ && conflicts(region, cell->write)) {
      complaint_ = verb + region.what() + race(region, cell->write, "written", cell->write_code);
      return false;
    }
    const auto read_before = std::uint64_t{cell->read_before} << 32;
    for (const auto read : {cell->read, read_before}) {
      if (!is_write || read == stamp_ || !conflicts(region, read)) continue;
      complaint_ = verb + region.what() + race(region, read, "read", cell->read_code);
      return false;
    }
    if (is_write) {
      cell->write = stamp_;
      cell->write_code = code;
    } else if (cell->read != stamp_) {
      note_read(*cell, code);
    }
  }
  return true;
}

std::string Checker::race(const Region& region, std::uint64_t stamp, const char* how,
                          const void* code) const {
  const auto thread = thread_of(stamp);
  std::string other = "another block of the launch";
  if (region.is_shared() || interval_of(stamp) >= first_of_block_) {
    other = thread == kManyWarps          ? "other threads"
            : (thread & kManyOfWarp) != 0 ? "threads of warp " + std::to_string(warp_of(stamp))
                                          : "thread " + std::to_string(thread);
  }
  return " where " + other + " has " + how + " at " + source_of(code) +
         " without a barrier between them";
}

}  // namespace evenkeel::emulated
