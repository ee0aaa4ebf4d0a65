// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/amx.h"

namespace evenkeel::kernels::cpu {

bool has_amx() {
  return true;  // such as it is, in this folder
}

}  // namespace evenkeel::kernels::cpu
