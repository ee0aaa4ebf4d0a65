// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/error.h"

namespace evenkeel {

void assertion_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(text(file, ":", line, ": ", condition));
}

}  // namespace evenkeel
