// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The instruction sets of this processor, detected with CPUID at run time.
/// EVENKEEL_ISA=avx512-bf16, avx512, avx2 or baseline hides wider ones from attention and from
/// train.precision = "auto", so that tests take the paths of older processors. Functions with
/// target_clones ignore EVENKEEL_ISA.
struct CpuFeatures {
  std::string name;  // "AMD EPYC"
  bool avx2 = false, avx512 = false, avx512_bf16 = false, amx_bf16 = false;
  /// The instruction vdpbf16ps computes more products a second than float32 arithmetic: on AMD's
  /// processors that have it, on Cooper Lake, and with EVENKEEL_ISA=avx512-bf16, which takes their
  /// paths. Intel's processors with AMX take two cycles for it.
  bool fast_bf16_dot = false;
  int cores = 1;  // in the CPU affinity of this process

  /// Reads CPUID, EVENKEEL_ISA and the CPU affinity of this process.
  static CpuFeatures detect();

  /// The name of the widest instruction set: "amx-bf16", "avx512-bf16", "avx512", "avx2",
  /// "baseline".
  std::string isa() const;
};

}  // namespace evenkeel
