// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/host_name.h"

#include <unistd.h>

#include <array>

namespace evenkeel {

std::string host_name(const char* unknown) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return unknown;
  return name.data();
}

}  // namespace evenkeel
