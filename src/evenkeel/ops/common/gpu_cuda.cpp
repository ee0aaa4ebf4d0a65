// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::ops {

namespace {

/// \param number  1000 * major + 10 * minor
std::string cuda_version(int number) {
  constexpr int kMajor = 1000, kMinor = 10;
  return text(number / kMajor, ".", number % kMajor / kMinor);
}

std::string hexadecimal(const cudaUUID_t& uuid) {
  constexpr auto kDigits = "0123456789abcdef";
  std::string digits;
  for (const char each : uuid.bytes) {
    const auto byte = static_cast<unsigned char>(each);
    digits += kDigits[byte / 16];
    digits += kDigits[byte % 16];
  }
  return digits;
}

/// The GPUs that CUDA finds.
struct FoundGpus {
  int count = 0;
  std::string error;
};

const FoundGpus& found_gpus() {
  static const FoundGpus found = [] {
    FoundGpus gpus;
    const auto error = cudaGetDeviceCount(&gpus.count);
    if (error == cudaSuccess) return gpus;
    cudaGetLastError();  // forget it
    gpus.count = 0;
    int driver = 0;  // 0: no driver is installed
    const bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    if (has_driver && error != cudaErrorNoDevice) gpus.error = cudaGetErrorString(error);
    return gpus;
  }();
  return found;
}

}  // namespace

bool is_cuda_build() {
  return true;
}

int gpu_count() {
  return found_gpus().count;
}

const std::string& gpu_error() {
  return found_gpus().error;
}

GpuInfo gpu_info(int index) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  GpuInfo info;
  info.name = properties.name;
  info.architecture = text("sm_", properties.major, properties.minor);
  info.uuid = hexadecimal(properties.uuid);
  int driver = 0, runtime = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  info.driver = cuda_version(driver);
  info.runtime = cuda_version(runtime);
  info.multiprocessors = properties.multiProcessorCount;
  info.total_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  return info;
}

std::int64_t free_gpu_bytes(int index) {
  const auto measured = [&] {
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaSetDevice(index));
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  };
  if (c10::cuda::hasPrimaryContext(static_cast<c10::DeviceIndex>(index))) return measured();
  static std::map<int, std::int64_t> known;
  const auto [entry, is_new] = known.try_emplace(index, 0);
  if (is_new) {
    entry->second = measured();
    C10_CUDA_CHECK(cudaDeviceReset());
  }
  return entry->second;
}

void use_gpu(int index, bool is_deterministic) {
  // cuBLAS gives equal bits only with a workspace of fixed size; it reads this at its first call.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  auto& context = at::globalContext();
  context.lazyInitDevice(at::kCUDA);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  context.setAllowTF32CuBLAS(false);
  context.setAllowBF16ReductionCuBLAS(false, /*allow_splitk=*/true);
  context.setDeterministicAlgorithms(is_deterministic, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(false);
}

void synchronize_gpu() {
  if (gpu_count() > 0) c10::cuda::device_synchronize();
}

std::int64_t gpu_peak_bytes(int index) {
  const auto stats =
      c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
  return stats.reserved_bytes[0].peak;
}

}  // namespace evenkeel::ops
