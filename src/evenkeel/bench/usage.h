// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace evenkeel::bench {

/// The resource usage of this process so far (getrusage).
struct Usage {
  double peak_bytes = 0;  // peak resident set size
  double faults = 0;      // minor page faults
};

inline Usage usage() {
  rusage all{};
  getrusage(RUSAGE_SELF, &all);
  return {1024.0 * static_cast<double>(all.ru_maxrss), static_cast<double>(all.ru_minflt)};
}

}  // namespace evenkeel::bench
