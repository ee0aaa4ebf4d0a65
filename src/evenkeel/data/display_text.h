// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::data {

/// Bytes of generated tokens as valid UTF-8: what is not well-formed becomes U+FFFD, one per
/// maximal part; control characters other than line feed and tab become U+FFFD, too.
/// \source The Unicode Standard, section 3.9, "U+FFFD Substitution of Maximal Subparts"
std::string display_text(std::string_view bytes);

/// What becomes of control characters other than line feed and tab: U+FFFD, for a terminal, or the
/// character itself, for a program.
enum class Controls { replaced, kept };

/// display_text() of bytes that come in pieces. A character may span two pieces.
class DisplayStream {
 public:
  explicit DisplayStream(Controls controls = Controls::replaced) : controls_(controls) {}

  /// The text that the new bytes complete.
  std::string add(std::string_view bytes);
  /// The rest: U+FFFD for an incomplete character.
  std::string finish();

 private:
  Controls controls_;
  std::string pending_;  // the beginning of a character
};

}  // namespace evenkeel::data
