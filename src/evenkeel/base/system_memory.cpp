// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/system_memory.h"

#include <fstream>
#include <string>
#include <string_view>

namespace evenkeel {

namespace {

/// The value of a line of /proc/meminfo in bytes; 0 if there is no such line.
double memory_line(std::string_view name) {
  constexpr double kKibibyte = 1024;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size())) * kKibibyte;
  }
  return 0;
}

}  // namespace

double available_bytes() {
  return memory_line("MemAvailable:");
}

double total_bytes() {
  return memory_line("MemTotal:") + memory_line("SwapTotal:");
}

}  // namespace evenkeel
