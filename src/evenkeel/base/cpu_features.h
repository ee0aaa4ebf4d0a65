// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel {

/// The instruction sets of this processor, detected with CPUID at run time.
/// EVENKEEL_ISA=avx512-bf16, avx512, avx2 or baseline hides wider ones from attention,
/// products of our own, int8 weights and train.precision = "auto", so that tests take the paths of
/// older processors. Functions with target_clones ignore EVENKEEL_ISA.
struct CpuFeatures {
  std::string name;  // "AMD EPYC"
  bool avx2 = false, avx512 = false, avx512_bf16 = false;
  bool amx_bf16 = false;     // and Linux lets this process use its tiles
  bool avx512_vnni = false;  // dot products of integers (vpdpwssd)
  bool amd = false;
  /// Training in bfloat16 is expected to be faster than in float32 with the dot products of AVX-512
  /// (vdpbf16ps): on AMD's processors that have them, and on Cooper Lake. Intel's processors with
  /// AMX compute fewer products with that instruction than in float32.
  bool fast_bf16_dot = false;
  int cores = 1;                  // in the CPU affinity of this process
  std::vector<int> core_numbers;  // of these, ascending

  /// Reads CPUID, EVENKEEL_ISA and the CPU affinity of this process, and asks Linux for AMX tiles.
  static CpuFeatures detect();

  /// The name of the widest instruction set: "amx-bf16", "avx512-bf16", "avx512", "avx2",
  /// "baseline".
  std::string isa() const;
};

}  // namespace evenkeel
