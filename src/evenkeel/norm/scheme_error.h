// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

/// An invalid scheme; exit code 64 (usage). `code()` is the broken rule ("unknown_kind"), listed in
/// docs/schemes.md. what() is "where: code: explanation".
class SchemeError : public Error {
 public:
  SchemeError(const std::string& code, const std::string& where, const std::string& explanation)
      : Error(Exit::usage, where.empty() ? text(code, ": ", explanation)
                                         : text(where, ": ", code, ": ", explanation)),
        code_(code),
        where_(where),
        explanation_(explanation) {}
  const std::string& code() const { return code_; }
  const std::string& explanation() const { return explanation_; }
  /// This error with `more` appended to the explanation.
  SchemeError with(const std::string& more) const { return {code_, where_, explanation_ + more}; }

 private:
  std::string code_;
  std::string where_;
  std::string explanation_;
};

}  // namespace evenkeel::norm
