// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"

namespace evenkeel::kernels::cpu {

/// This folder has all instructions. EVENKEEL_ISA of any value hides AMX.
bool has_amx() {
  return std::getenv("EVENKEEL_ISA") == nullptr;
}

bool has_avx512() {
  return true;
}

bool has_avx512_bf16() {
  return true;
}

bool has_avx512_vnni() {
  return true;
}

}  // namespace evenkeel::kernels::cpu
