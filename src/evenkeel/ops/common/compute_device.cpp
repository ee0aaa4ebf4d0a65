// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/compute_device.h"

#include <charconv>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::ops {

namespace {

at::Device& device_of_process() {
  static at::Device device = at::kCPU;
  return device;
}

constexpr std::string_view kCuda = "cuda";

/// The number after "cuda:", or that of the process for "cuda"; -1 for other text.
int gpu_index(std::string_view name, int local_rank) {
  if (name == kCuda) return gpu_count() == 0 ? 0 : local_rank % gpu_count();
  std::string_view digits;
  if (name.starts_with("cuda:")) digits = name.substr(kCuda.size() + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && index >= 0 ? index : -1;
}

}  // namespace

at::Device compute_device() {
  return device_of_process();
}

void set_compute_device(at::Device device, bool is_deterministic) {
  if (device.is_cuda()) use_gpu(device.index(), is_deterministic);
  name_compute_device(device);
}

void name_compute_device(at::Device device) {
  device_of_process() = device;
}

at::Device parse_device(const std::string& name, int local_rank) {
  if (name == "cpu") return at::kCPU;
  if (name == "auto" && gpu_count() == 0) return at::kCPU;
  const auto index = gpu_index(name == "auto" ? std::string(kCuda) : name, local_rank);
  if (index < 0) {
    throw Error(Exit::usage,
                text("--device ", name, ": must be auto, cpu, cuda or cuda:N, with a number N"));
  }
  if (!is_cuda_build()) {
    throw Error(Exit::usage, text("--device ", name,
                                  ": this program was built without CUDA; docs/gpu.md says how to "
                                  "build it with CUDA, or leave --device out"));
  }
  if (gpu_count() == 0 && !gpu_error().empty()) {
    throw Error(Exit::busy, text("--device ", name, ": no GPU can be used: ", gpu_error(),
                                 "; docs/gpu.md says which driver CUDA needs"));
  }
  if (gpu_count() == 0) {
    throw Error(Exit::busy, text("--device ", name,
                                 ": no GPU was found; nvidia-smi shows what the driver sees"));
  }
  if (index >= gpu_count()) {
    throw Error(Exit::usage, text("--device ", name, ": this machine has ", gpu_count(),
                                  gpu_count() == 1 ? " GPU" : " GPUs", ", numbered from 0"));
  }
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace evenkeel::ops
