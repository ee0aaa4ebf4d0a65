// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/mkl_cnr.h"

#include <cstdlib>

namespace evenkeel {

void enable_mkl_cnr() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_is("intel") || __builtin_cpu_supports("x86-64-v4") == 0) return;
  ::setenv("MKL_CBWR", "AVX512,STRICT", /*overwrite=*/0);
#endif
}

}  // namespace evenkeel
