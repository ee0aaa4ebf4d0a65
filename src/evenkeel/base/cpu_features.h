// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The instruction sets of this processor, detected at run time (CPUID). EVENKEEL_ISA=avx512, avx2
/// or baseline limits what attention and train.precision = "auto" detect, so that a test takes the
/// code paths of older processors. Functions compiled with target_clones ignore EVENKEEL_ISA.
struct CpuFeatures {
  std::string name;  // "AMD EPYC"
  bool avx2 = false, avx512 = false, avx512_bf16 = false, amx_bf16 = false;
  int cores = 1;  // that this process may use

  /// Reads CPUID, EVENKEEL_ISA and the process's CPU affinity.
  static CpuFeatures detect();

  /// The widest of the above: "amx-bf16", "avx512-bf16", "avx512", "avx2" or "baseline".
  std::string isa() const;
};

}  // namespace evenkeel
