// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/serial_libraries.h"

#include <ATen/Parallel.h>
#include <omp.h>

#if defined(__x86_64__)
/// A function of the MKL inside LibTorch: sets the number of threads for calls of this thread.
/// \return the previous number; 0: the default of the process
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));  // NOLINT: MKL's name
#endif

namespace evenkeel::ops {

namespace {

/// Threads of the operators of this thread while SerialLibraries is active; 0: not active.
thread_local int operator_threads = 0;

int set_mkl_threads([[maybe_unused]] int threads) {
#if defined(__x86_64__)
  if (MKL_Set_Num_Threads_Local != nullptr) return MKL_Set_Num_Threads_Local(threads);
#endif
  return 0;
}

}  // namespace

SerialLibraries::SerialLibraries(bool needed) : is_active_(needed) {
  if (!is_active_) return;
  // Its first call in a thread sets the OpenMP number, so it precedes omp_set_num_threads().
  const int threads = at::get_num_threads();
  openmp_threads_ = omp_get_max_threads();
  operator_threads_ = operator_threads;
  if (operator_threads == 0) operator_threads = threads;
  omp_set_num_threads(1);
  mkl_threads_ = set_mkl_threads(1);
}

SerialLibraries::~SerialLibraries() {
  if (!is_active_) return;
  set_mkl_threads(mkl_threads_);
  omp_set_num_threads(openmp_threads_);
  operator_threads = operator_threads_;
}

OperatorThreads::OperatorThreads() {
  if (operator_threads == 0 || at::in_parallel_region()) return;
  openmp_threads_ = omp_get_max_threads();
  omp_set_num_threads(operator_threads);
}

OperatorThreads::~OperatorThreads() {
  if (openmp_threads_ > 0) omp_set_num_threads(openmp_threads_);
}

}  // namespace evenkeel::ops
