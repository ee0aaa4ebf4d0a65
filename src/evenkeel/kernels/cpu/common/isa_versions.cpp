// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/common/isa_versions.h"

#include "evenkeel/base/cpu_features.h"

namespace evenkeel::kernels::cpu {

int vector_bytes() {
#if defined(EK_VECTOR_BYTES)
  return EK_VECTOR_BYTES;
#else
  static const CpuFeatures cpu = CpuFeatures::detect();
  if (cpu.avx512) return 64;
  return cpu.avx2 ? 32 : 16;
#endif
}

}  // namespace evenkeel::kernels::cpu
