// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/system_memory.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
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

namespace fs = std::filesystem;

/// The number in a file; NaN without one ("max").
double number_in(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  return in >> value ? value : std::nan("");
}

/// The value of a line of memory.stat; 0 without it.
double statistic(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  std::string key;
  for (double value = 0; in >> key >> value;) {
    if (key == name) return value;
  }
  return 0;
}

/// What one group leaves; infinity without a limit.
double group_bytes(const fs::path& group, const char* limit_name, const char* usage_name) {
  const double limit = number_in(group / limit_name), used = number_in(group / usage_name);
  if (std::isnan(limit) || std::isnan(used)) return std::numeric_limits<double>::infinity();
  const double dropped = statistic(group / "memory.stat", "inactive_file");
  return std::max(0.0, limit - (used - std::min(used, dropped)));
}

/// The least of a group and its ancestors up to `root`.
double least_of_groups(const fs::path& root, const std::string& group, const char* limit_name,
                       const char* usage_name) {
  double least = group_bytes(root, limit_name, usage_name);
  auto folder = root;
  for (const auto& part : fs::path(group).relative_path()) {
    folder /= part;
    least = std::min(least, group_bytes(folder, limit_name, usage_name));
  }
  return least;
}

}  // namespace

double control_group_bytes(const fs::path& root, const std::string& group) {
  double least = std::numeric_limits<double>::infinity();
  std::istringstream lines(group);
  for (std::string line; std::getline(lines, line);) {  // "0::/user.slice", "4:memory:/docker/1f"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_of_groups(root, path, "memory.max", "memory.current"));
    } else if (controllers == "memory") {
      least = std::min(least, least_of_groups(root / "memory", path, "memory.limit_in_bytes",
                                              "memory.usage_in_bytes"));
    }
  }
  return least;
}

double available_bytes() {
  std::ifstream file("/proc/self/cgroup");
  const std::string group(std::istreambuf_iterator<char>(file), {});
  return std::min(memory_line("MemAvailable:"), control_group_bytes("/sys/fs/cgroup", group));
}

double total_bytes() {
  return memory_line("MemTotal:") + memory_line("SwapTotal:");
}

}  // namespace evenkeel
