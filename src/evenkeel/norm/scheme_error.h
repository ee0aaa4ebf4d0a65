// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

/// An invalid scheme. `code()` names the broken rule (docs/schemes.md lists the codes):
/// "normed_without_input", "unknown_kind", ... what() reads "where: code: explanation".
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
  /// The same error with further text after the explanation.
  SchemeError with(const std::string& more) const { return {code_, where_, explanation_ + more}; }

 private:
  std::string code_;
  std::string where_;
  std::string explanation_;
};

}  // namespace evenkeel::norm
