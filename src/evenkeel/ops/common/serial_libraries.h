// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::ops {

/// While an object exists, LibTorch, MKL and oneDNN use one thread for calls of the calling thread.
/// These libraries split some sums by their number of threads: matrix products with few outputs,
/// sums of all values of a tensor, LAPACK. With one thread the order of a sum depends on its shape
/// alone. Inside a parallel region, each thread needs an object of its own.
class SerialLibraries {
 public:
  SerialLibraries();
  SerialLibraries(const SerialLibraries&) = delete;
  SerialLibraries& operator=(const SerialLibraries&) = delete;
  ~SerialLibraries();

 private:
  int openmp_threads_;  // before
  int mkl_threads_;     // before; 0: MKL's default
};

/// function(), with SerialLibraries.
template <typename Function>
auto serially(const Function& function) {
  const SerialLibraries one_thread;
  return function();
}

}  // namespace evenkeel::ops
