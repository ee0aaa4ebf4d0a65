// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes precedence over LibTorch's header of this name. The tensors of the test are on the CPU.
#include <c10/core/Device.h>

namespace c10::cuda {

class CUDAGuard {
 public:
  explicit CUDAGuard(c10::Device /*device*/) {}
  ~CUDAGuard() {}  // not trivial: no warning of an unused variable
};

}  // namespace c10::cuda
