// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "evenkeel/tokenizer/merges.h"

namespace evenkeel::tokenizer {

/// Code point -> id, as a table of blocks.
class CharacterIds {
 public:
  CharacterIds() : ids_(kBlock, kNoId) {}

  void set(char32_t code, Id id) {
    auto& block = block_of_[code >> kShift];
    if (block == 0) {
      block = static_cast<std::uint16_t>(ids_.size() / kBlock);
      ids_.resize(ids_.size() + kBlock, kNoId);
    }
    ids_[block * kBlock + code % kBlock] = id;
  }

  /// kNoId for a code point without an id.
  Id of(char32_t code) const { return ids_[block_of_[code >> kShift] * kBlock + code % kBlock]; }

 private:
  static constexpr unsigned kShift = 8;
  static constexpr std::size_t kBlock = std::size_t{1} << kShift;

  std::array<std::uint16_t, 0x1100> block_of_{};  // 0: no code point has an id
  std::vector<Id> ids_;
};

}  // namespace evenkeel::tokenizer
