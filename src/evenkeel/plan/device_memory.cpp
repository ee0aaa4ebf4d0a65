// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/device_memory.h"

#include "evenkeel/base/system_memory.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::plan {

DeviceMemory device_memory() {
  const auto device = ops::compute_device();
  if (device.is_cpu()) return {.free = available_bytes(), .whole = total_bytes()};
  return {.free = static_cast<double>(ops::free_gpu_bytes(device.index())),
          .whole = static_cast<double>(ops::gpu_info(device.index()).total_bytes)};
}

std::string memory_owner() {
  const auto device = ops::compute_device();
  return device.is_cpu() ? "the machine" : device.str();
}

}  // namespace evenkeel::plan
