// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/cuda_runtime_api.h"

namespace emulated = evenkeel::emulated;

namespace {

std::string reported;  // why the launch failed of which the error was returned last

}  // namespace

cudaError_t cudaGetLastError() {
  const auto error = cudaPeekAtLastError();
  if (error == cudaSuccess) return error;
  reported = std::exchange(emulated::failure(), {});
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return emulated::failure().empty() ? cudaSuccess : cudaErrorLaunchFailure;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure:
      break;
  }
  return "cudaErrorLaunchFailure";
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? reported.c_str() : cudaGetErrorName(error);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return cudaErrorInvalidValue;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = emulated::kMostThreads;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = emulated::kStaticBytes;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = emulated::card().multiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = emulated::kThreadsOfMultiprocessor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = emulated::kSharedOfMultiprocessor;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(emulated::card().shared_bytes);
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return cudaErrorInvalidValue;
  *properties = {.name = "an emulated H100",
                 .major = 9,
                 .minor = 0,
                 .multiProcessorCount = emulated::card().multiprocessors,
                 .maxThreadsPerMultiProcessor = emulated::kThreadsOfMultiprocessor,
                 .warpSize = 32,
                 .sharedMemPerBlock = emulated::kStaticBytes,
                 .sharedMemPerBlockOptin = emulated::card().shared_bytes,
                 .sharedMemPerMultiprocessor = emulated::kSharedOfMultiprocessor};
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t /*stream*/) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > emulated::card().shared_bytes)
    return cudaErrorInvalidValue;
  emulated::set_shared_limit(kernel, static_cast<std::size_t>(value));
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int threads, std::size_t shared) {
  if (threads < 1 || threads > static_cast<int>(emulated::kMostThreads))
    return cudaErrorInvalidValue;
  const auto by_shared =
      static_cast<int>(emulated::kSharedOfMultiprocessor / (shared + emulated::kReservedOfBlock));
  const int by_threads = emulated::kThreadsOfMultiprocessor / ((threads + 31) / 32 * 32);
  *blocks = shared > emulated::shared_limit(kernel)
                ? 0
                : std::min({by_shared, by_threads, emulated::kBlocksOfMultiprocessor});
  return cudaSuccess;
}
