// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

/// \throws Error (data, exit code 65): "where: reason"
template <typename... Parts>
[[noreturn]] void refuse(const std::string& where, const Parts&... reason) {
  throw Error(Exit::data, evenkeel::text(where, ": ", reason...));
}

}  // namespace evenkeel::tokenizer
