// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/boot_id.h"

#include <fstream>

namespace evenkeel {

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace evenkeel
