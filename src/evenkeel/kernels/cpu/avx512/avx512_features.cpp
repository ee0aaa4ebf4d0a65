// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"

#include "evenkeel/base/cpu_features.h"

namespace evenkeel::kernels::cpu {

bool has_avx512() {
  static const bool has = CpuFeatures::detect().avx512;
  return has;
}

bool has_avx512_bf16() {
  static const bool has = [] {
    const auto cpu = CpuFeatures::detect();
    return cpu.avx512 && cpu.avx512_bf16;
  }();
  return has;
}

bool has_avx512_vnni() {
  static const bool has = [] {
    const auto cpu = CpuFeatures::detect();
    return cpu.avx512 && cpu.avx512_vnni;
  }();
  return has;
}

}  // namespace evenkeel::kernels::cpu
