// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/amx.h"

#include "evenkeel/base/cpu_features.h"

namespace evenkeel::kernels::cpu {

bool has_amx() {
  static const bool has = CpuFeatures::detect().amx_bf16;
  return has;
}

}  // namespace evenkeel::kernels::cpu
