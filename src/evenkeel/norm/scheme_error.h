// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

/// A scheme that has no meaning. `code()` names the broken rule (docs/schemes.md lists them):
/// "normed_without_input", "unknown_kind", ... what() reads "where: code: explanation".
class SchemeError : public Error {
 public:
  SchemeError(const std::string& code, const std::string& where, const std::string& explanation)
      : Error(Exit::usage, where.empty() ? text(code, ": ", explanation)
                                         : text(where, ": ", code, ": ", explanation)),
        code_(code),
        explanation_(explanation) {}
  const std::string& code() const { return code_; }
  const std::string& explanation() const { return explanation_; }

 private:
  std::string code_;
  std::string explanation_;
};

}  // namespace evenkeel::norm
