// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/utc_time.h"

#include <array>
#include <ctime>

namespace evenkeel {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> out{};
  const auto length = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {out.data(), length};
}

}  // namespace evenkeel
