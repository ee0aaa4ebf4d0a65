// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/version.h"

#include "commit.h"  // written by cmake/Commit.cmake

namespace evenkeel {

std::string commit() {
  return EK_COMMIT;
}

}  // namespace evenkeel
