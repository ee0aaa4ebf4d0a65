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

CpuSeconds seconds_now() {
  return {.own = seconds_of(RUSAGE_SELF), .children = seconds_of(RUSAGE_CHILDREN)};
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

std::optional<double> contention_between(const CpuTicks& before, const CpuTicks& after,
                                         const CpuSeconds& used, double ticks_per_second) {
  const auto ticks = [](std::int64_t count) { return static_cast<double>(count); };
  const double busy = ticks(after.busy - before.busy);
  const double stolen = ticks(after.stolen - before.stolen);
  const double all = busy + stolen + ticks(after.idle - before.idle);
  if (all <= 0) return std::nullopt;
  const double own = (used.own + used.children) * ticks_per_second;
  return std::clamp((busy + stolen - own) / all, 0.0, 1.0);
}

CpuContention::CpuContention() : start_(ticks_now()), used_(seconds_now()) {}

std::optional<double> CpuContention::share() const {
  const auto ticks = ticks_now();
  const auto now = seconds_now();
  if (!start_ || !ticks) return std::nullopt;
  return contention_between(*start_, *ticks,
                            {.own = now.own - used_.own, .children = now.children - used_.children},
                            static_cast<double>(sysconf(_SC_CLK_TCK)));
}

std::optional<double> cpu_contention_over(double seconds) {
  const CpuContention contention;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return contention.share();
}

}  // namespace evenkeel
