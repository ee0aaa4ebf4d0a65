// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/adapters.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/shared_memory.h"

namespace evenkeel::emulated {

namespace {

struct Registered {
  Adapter::Registration registration;
  const char* file;
  unsigned line;
};
std::vector<Registered>& registered() {
  static std::vector<Registered> all;
  return all;
}

/// The dispatcher warns of each kernel that replaces another one, as all of these do.
class Silent : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

/// Fresh memory is poisoned, and aligned as that of CUDA's allocator.
class PoisonedAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    constexpr std::size_t kAlignment = 512;
    void* memory = nullptr;
    if (bytes != 0) {
      TORCH_CHECK(posix_memalign(&memory, kAlignment, bytes) == 0, "no memory");
      std::memset(memory, kPoison, bytes);
      checker().add_tensor(memory, bytes);
    }
    return {memory, memory, &PoisonedAllocator::release, at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &PoisonedAllocator::release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void release(void* memory) {
    if (memory == nullptr) return;
    checker().remove_tensor(memory);
    std::free(memory);
  }
};

}  // namespace

Adapter::Adapter(Registration registration, const char* file, unsigned line) {
  registered().push_back({registration, file, line});
}

EmulatedCuda::EmulatedCuda() {
  Silent silent;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&silent);
  for (const auto& each : registered()) {
    libraries_.emplace_back(torch::Library::IMPL, "evenkeel", c10::DispatchKey::CPU, each.file,
                            each.line);
    each.registration(libraries_.back());
  }
}

void poison_tensors() {
  static PoisonedAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/100);
}

}  // namespace evenkeel::emulated
