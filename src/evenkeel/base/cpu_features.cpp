// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/cpu_features.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

#if defined(__x86_64__)
bool is_amd() {
  return __builtin_cpu_is("amd") != 0;
}

/// CpuFeatures::fast_bf16_dot, where there is the instruction.
bool is_bf16_dot_fast() {
  return is_amd() || __builtin_cpu_is("cooperlake") != 0;
}

/// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux 5.16 and later.
bool may_use_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

/// True if CPUID reports AMX-BF16: leaf 7, sub-leaf 0, EDX bit 22.
bool has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kExtendedFeatures = 7;
  constexpr unsigned kAmxBf16 = 1U << 22U;
  return __get_cpuid_count(kExtendedFeatures, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0;
}
#endif

/// \param widest  "avx512-bf16", "avx512", "avx2" or "baseline"; nullptr: no limit
void limit_isa(CpuFeatures& cpu, const char* widest) {
  constexpr std::array<std::string_view, 4> kWords = {"baseline", "avx2", "avx512", "avx512-bf16"};
  const std::string_view word = widest == nullptr ? "" : widest;
  if (word.empty()) return;
  const auto* const found = std::find(kWords.begin(), kWords.end(), word);
  const auto level = found - kWords.begin();
  if (found == kWords.end()) {
    throw Error(
        Exit::usage,
        text("EVENKEEL_ISA must be avx512-bf16, avx512, avx2 or baseline, but is \"", word, "\""));
  }
  cpu.avx2 = cpu.avx2 && level >= 1;
  cpu.avx512 = cpu.avx512 && level >= 2;
  cpu.avx512_vnni = cpu.avx512_vnni && level >= 2;
  cpu.avx512_bf16 = cpu.avx512_bf16 && level >= 3;
  cpu.fast_bf16_dot = cpu.fast_bf16_dot && cpu.avx512_bf16;
  cpu.amx_bf16 = false;
}

}  // namespace

CpuFeatures CpuFeatures::detect() {
  CpuFeatures cpu;
  cpu.name = processor_name();
#if defined(__x86_64__)
  cpu.avx2 = __builtin_cpu_supports("x86-64-v3") != 0;
  cpu.avx512 = __builtin_cpu_supports("x86-64-v4") != 0;
  cpu.avx512_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
  cpu.avx512_vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni") != 0;
  cpu.amd = is_amd();
  cpu.fast_bf16_dot = cpu.avx512_bf16 && is_bf16_dot_fast();
  cpu.amx_bf16 = has_amx_bf16() && may_use_tiles();
#endif
  limit_isa(cpu, std::getenv("EVENKEEL_ISA"));
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cpu.cores = std::max(1, CPU_COUNT(&set));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cpu.core_numbers.push_back(core);
  }
  return cpu;
}

std::string CpuFeatures::isa() const {
  if (amx_bf16) return "amx-bf16";
  if (avx512_bf16) return "avx512-bf16";
  if (avx512) return "avx512";
  return avx2 ? "avx2" : "baseline";
}

}  // namespace evenkeel
