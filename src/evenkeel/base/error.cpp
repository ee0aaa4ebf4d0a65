// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/error.h"

namespace evenkeel {

void broken_promise(const char* condition, const char* file, int line) {
  throw std::logic_error(text(file, ":", line, ": ", condition));
}

}  // namespace evenkeel
