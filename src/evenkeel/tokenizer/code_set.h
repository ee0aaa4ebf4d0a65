// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::tokenizer {

inline constexpr char32_t kMaxCodePoint = 0x10ffff;

/// A set of Unicode code points: sorted ranges without overlap.
class CodeSet {
 public:
  struct Range {
    char32_t first, last;
  };

  CodeSet() = default;
  explicit CodeSet(std::vector<Range> ranges);

  const std::vector<Range>& ranges() const { return ranges_; }
  void add(const CodeSet& other);
  /// All other code points.
  CodeSet complement() const;
  /// The inside of a character class of PCRE2: `\x{41}-\x{5a}\x{61}`.
  std::string class_text() const;

 private:
  std::vector<Range> ranges_;
};

/// The code points of a general category, "Lu", or of its first letter, "L"; nullopt for any other
/// name. Classes do not depend on the system's libraries: they are those of Unicode 16.
std::optional<CodeSet> category_set(std::string_view name);

/// White_Space: what `\s` matches.
CodeSet space_set();

}  // namespace evenkeel::tokenizer
