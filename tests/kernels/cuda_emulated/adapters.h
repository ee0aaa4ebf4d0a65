// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

#include <deque>

namespace evenkeel::emulated {

/// One TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) of a CUDA adapter, which rewrite.py makes one of
/// these.
struct Adapter {
  using Registration = void (*)(torch::Library&);
  Adapter(Registration registration, const char* file, unsigned line);
};

/// While it lives, the CUDA adapters run, on CPU tensors, in place of the CPU kernels of their
/// operators, with emulated kernels.
class EmulatedCuda {
 public:
  EmulatedCuda();

 private:
  std::deque<torch::Library> libraries_;
};

/// From the first call on, tensors are filled with NaN (integers: -1) when they are allocated, and
/// known to the checker of memory accesses.
void poison_tensors();

}  // namespace evenkeel::emulated

#define EK_EMULATED_ADAPTER(m) EK_EMULATED_ADAPTER_AT(m, __COUNTER__)
#define EK_EMULATED_ADAPTER_AT(m, id) EK_EMULATED_ADAPTER_OF(m, id)
#define EK_EMULATED_ADAPTER_OF(m, id)                                                     \
  static void ek_register_##id(torch::Library& m);                                        \
  static const ::evenkeel::emulated::Adapter ek_adapter_##id(&ek_register_##id, __FILE__, \
                                                             __LINE__);                   \
  static void ek_register_##id(torch::Library& m)
