// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/line_cut.h"
#include "evenkeel/tokenizer/regex_syntax.h"

namespace evenkeel::tokenizer {

/// The patterns that most tokenizers divide text with, matched without a regular expression: about
/// five times as fast. Every character of a text belongs to one match.
class WordPattern {
 public:
  /// A matcher for a pattern; nullopt if the pattern is not a known one.
  static std::optional<WordPattern> of(std::string_view pattern, Syntax syntax);

  /// The patterns that of() knows.
  static std::vector<std::string_view> known();

  /// Where a text may be divided, without a change of the matches.
  LineCut line_cut() const { return kind_ == Kind::gpt2 ? LineCut::before : LineCut::after; }

  /// The end of the match that begins at byte `at` < text.size().
  /// \param text  well-formed UTF-8
  std::size_t end_of_match(std::string_view text, std::size_t at) const;

 private:
  /// gpt2: words with a space before them. gpt4: and digits in groups. o200k: and words by case.
  enum class Kind { gpt2, gpt4, o200k };
  struct Known;
  static const Known kKnown[];

  WordPattern(Kind kind, unsigned digits, bool whole_tail)
      : kind_(kind), digits_(digits), whole_tail_(whole_tail) {}

  Kind kind_;
  unsigned digits_;  // most digits of a match
  bool whole_tail_;  // white space at the end of the text is one match (tiktoken's cl100k_base)
};

/// The pattern of GPT-2, which ByteLevel applies.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The pattern of GPT-4 as Llama 3 and dolma2 have it.
inline constexpr std::string_view kGpt4Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The pattern of Qwen 2: each digit is a match.
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The pattern of GPT-4o.
inline constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The patterns of tiktoken's gpt2 and cl100k_base.
inline constexpr std::string_view kTiktokenGpt2Pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
inline constexpr std::string_view kTiktokenGpt4Pattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
    R"(|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";

/// The same matches in Ruby's syntax, in which `{1,3}+` is not possessive, and `$` is at each line.
inline constexpr std::string_view kRubyTiktokenGpt4Pattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
    R"(|\s++(?!\S)|\s*[\r\n]|\s+(?!\S)|\s)";

}  // namespace evenkeel::tokenizer
