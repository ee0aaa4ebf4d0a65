// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/serial_libraries.h"

#include <ATen/Parallel.h>
#include <omp.h>

#if defined(__x86_64__)
/// Of the MKL inside LibTorch: sets the number of threads of the calling thread.
/// \return the value before; 0: the default of the process
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));  // NOLINT: MKL's name
#endif

namespace evenkeel::ops {

namespace {

int set_mkl_threads([[maybe_unused]] int threads) {
#if defined(__x86_64__)
  if (MKL_Set_Num_Threads_Local != nullptr) return MKL_Set_Num_Threads_Local(threads);
#endif
  return 0;
}

}  // namespace

SerialLibraries::SerialLibraries() {
  // The first call in a thread sets both numbers to that of the process, so it comes first.
  at::get_num_threads();
  openmp_threads_ = omp_get_max_threads();
  omp_set_num_threads(1);
  mkl_threads_ = set_mkl_threads(1);
}

SerialLibraries::~SerialLibraries() {
  set_mkl_threads(mkl_threads_);
  omp_set_num_threads(openmp_threads_);
}

}  // namespace evenkeel::ops
