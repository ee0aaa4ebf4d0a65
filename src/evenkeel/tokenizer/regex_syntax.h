// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::tokenizer {

/// The syntax of a pattern: Ruby's is that of Hugging Face's engine (Oniguruma), Perl's that of
/// tiktoken.
enum class Syntax { ruby, perl };

/// The regular expression of PCRE2 that matches what the engine of `syntax` matches for `pattern`:
///
/// | pattern                   | translation                                                  |
/// | ------------------------- | ------------------------------------------------------------ |
/// | `\p{L}` `\s` `\d` `[^\s]` | explicit ranges of Unicode 16, not those of the system        |
/// | `X{1,3}+`                 | Ruby: `(?:X{1,3})+`; Perl: unchanged, possessive             |
/// | `X{,3}`                   | `X{0,3}`                                                     |
/// | `^` `$`                   | unchanged; at lines (Ruby) or ends of the text (Perl)        |
///
/// \param where  path of the field, for messages
/// \throws Error (data, exit code 65) for syntax outside the translation
std::string pcre2_pattern(std::string_view pattern, Syntax syntax, const std::string& where);

}  // namespace evenkeel::tokenizer
