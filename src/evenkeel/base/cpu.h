// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// What this processor can do, asked at run time. EVENKEEL_ISA=avx512, avx2 or baseline hides what
/// is above that from whoever asks here (attention, train.precision = "auto"), so that a test takes
/// the ways of lesser processors; what is compiled with target_clones chooses by itself.
struct Cpu {
  std::string name;  // "AMD EPYC"
  bool avx2 = false, avx512 = false, avx512_bf16 = false, amx_bf16 = false;
  int cores = 1;  // that this process may use

  static Cpu detect();

  /// The widest of the above: "amx-bf16", "avx512-bf16", "avx512", "avx2" or "baseline".
  std::string isa() const;
};

}  // namespace evenkeel
