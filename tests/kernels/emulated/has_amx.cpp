// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/has_avx512_bf16.h"

namespace evenkeel::kernels::cpu {

bool has_amx() {
  return true;  // such as it is, in this folder
}

bool has_avx512_bf16() {
  return true;
}

}  // namespace evenkeel::kernels::cpu
