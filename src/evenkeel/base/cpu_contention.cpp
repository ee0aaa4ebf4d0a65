// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/cpu_contention.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace evenkeel {

namespace {

double seconds_of(decltype(RUSAGE_SELF) who) {
  rusage usage{};
  if (getrusage(who, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// CPU seconds of this process and its ended children.
double own_seconds() {
  return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

std::optional<CpuTicks> ticks_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return parsed_cpu_ticks(line.c_str());
}

}  // namespace

std::optional<CpuTicks> parsed_cpu_ticks(const char* text) {
  std::istringstream in(text);
  std::string name;
  std::int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0,
               stolen = 0;
  in >> name >> user >> nice >> system >> idle >> waiting >> hard >> soft >> stolen;
  if (!in || name != "cpu") return std::nullopt;
  return CpuTicks{user + nice + system + hard + soft, idle + waiting, stolen};
}

CpuContention::CpuContention() : start_(ticks_now()), own_seconds_(own_seconds()) {}

std::optional<double> CpuContention::share() const {
  const auto now = ticks_now();
  if (!start_ || !now) return std::nullopt;
  const auto ticks = [](std::int64_t count) { return static_cast<double>(count); };
  const double busy = ticks(now->busy - start_->busy);
  const double stolen = ticks(now->stolen - start_->stolen);
  const double all = busy + stolen + ticks(now->idle - start_->idle);
  if (all <= 0) return std::nullopt;
  const double own = (own_seconds() - own_seconds_) * static_cast<double>(sysconf(_SC_CLK_TCK));
  return std::clamp((busy + stolen - own) / all, 0.0, 1.0);
}

std::optional<double> cpu_contention_over(double seconds) {
  const CpuContention contention;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return contention.share();
}

}  // namespace evenkeel
