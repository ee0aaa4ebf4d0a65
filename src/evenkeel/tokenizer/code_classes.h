// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace evenkeel::tokenizer {

/// The classes of characters that word patterns distinguish, as a table.
class CodeClasses {
 public:
  enum Class : std::uint8_t {
    letter = 1,     // \p{L}
    number = 2,     // \p{N}
    space = 4,      // \s
    line_end = 8,   // \r \n
    upper = 16,     // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
    lower = 32,     // \p{Ll}\p{Lm}\p{Lo}\p{M}
    quick_nfc = 64  // U+0000 to U+02FF and blocks of ideographs: unchanged by NFC in any context
  };

  static const CodeClasses& instance();

  std::uint8_t of(char32_t code) const {
    return blocks_[static_cast<std::size_t>(block_of_[code >> kShift]) << kShift |
                   (code & (kBlock - 1))];
  }
  std::uint8_t of_ascii(unsigned char byte) const { return blocks_[byte]; }

 private:
  static constexpr unsigned kShift = 8;
  static constexpr char32_t kBlock = char32_t{1} << kShift;

  CodeClasses();

  std::array<std::uint16_t, 0x1100> block_of_{};
  std::vector<std::uint8_t> blocks_;  // equal blocks once; the first is that of ASCII
};

}  // namespace evenkeel::tokenizer
