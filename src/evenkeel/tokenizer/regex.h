// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/tokenizer/regex_syntax.h"

namespace evenkeel::tokenizer {

/// A compiled regular expression, of PCRE2 with its JIT compiler. Immutable; threads share it.
class Regex {
 public:
  struct Match {
    std::size_t begin, end;
  };

  /// Memory of one thread for matching, with any Regex.
  class Scratch {
   public:
    Scratch();

   private:
    friend class Regex;
    struct State;
    std::shared_ptr<State> state_;
  };

  /// \param pattern  regex_syntax.h lists what is supported
  /// \param where    path of the field, for messages
  /// \throws Error (data, exit code 65)
  Regex(std::string_view pattern, Syntax syntax, const std::string& where);

  /// The first match that begins at byte `from` or later; nullopt for none.
  /// \param text  well-formed UTF-8
  /// \throws Error (data, exit code 65) for a text that needs too many steps
  std::optional<Match> find(std::string_view text, std::size_t from, Scratch& scratch) const;

  const std::string& pattern() const { return pattern_; }

 private:
  struct Code;
  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

}  // namespace evenkeel::tokenizer
