// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/amx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "evenkeel/base/cpu_features.h"

namespace evenkeel::kernels::cpu {

namespace {

/// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux 5.16 and later.
bool may_use_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace

bool has_amx() {
  static const bool has = CpuFeatures::detect().amx_bf16 && may_use_tiles();
  return has;
}

}  // namespace evenkeel::kernels::cpu
