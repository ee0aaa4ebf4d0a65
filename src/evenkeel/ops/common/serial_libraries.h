// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::ops {

/// While an object exists, LibTorch, MKL and oneDNN use one thread for calls of the calling thread.
///
/// These libraries split some sums and some element-wise functions by their number of threads:
/// matrix products, sums over all values or over columns, sigmoid, LAPACK. With one thread the bits
/// depend on the shapes alone. Evenkeel's operators keep their threads, unless the object was made
/// inside a parallel region. There, each thread needs an object of its own.
class SerialLibraries {
 public:
  /// \param needed  false: nothing changes
  explicit SerialLibraries(bool needed = true);
  SerialLibraries(const SerialLibraries&) = delete;
  SerialLibraries& operator=(const SerialLibraries&) = delete;
  ~SerialLibraries();

 private:
  bool is_active_;
  int openmp_threads_ = 0, mkl_threads_ = 0, operator_threads_ = 0;  // before
};

/// Undoes SerialLibraries while an object exists: for the parallel loops of Evenkeel's operators.
/// Has no effect inside a parallel region.
class OperatorThreads {
 public:
  OperatorThreads();
  OperatorThreads(const OperatorThreads&) = delete;
  OperatorThreads& operator=(const OperatorThreads&) = delete;
  ~OperatorThreads();

 private:
  int openmp_threads_ = 0;  // before; 0: unchanged
};

/// function(), with SerialLibraries.
template <typename Function>
auto serially(const Function& function) {
  const SerialLibraries one_thread;
  return function();
}

}  // namespace evenkeel::ops
