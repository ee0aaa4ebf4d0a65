// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// The GPUs of this machine. A CPU build has gpu_none.cpp, a CUDA build gpu_cuda.cpp (EK_CUDA).
namespace evenkeel::ops {

/// What is known of a GPU.
struct GpuInfo {
  std::string name;              // "NVIDIA H100 80GB HBM3"
  std::string architecture;      // "sm_90"
  std::string uuid;              // 32 hexadecimal digits: no other GPU or part of one has it
  std::string driver, runtime;   // versions of CUDA: "13.0"
  std::int64_t total_bytes = 0;  // memory
  std::int64_t multiprocessors = 0;
};

/// Whether this build has CUDA.
bool is_cuda_build();

/// The number of GPUs that this process can use; 0 in a CPU build.
int gpu_count();

/// Why gpu_count() is 0 although the machine has a driver, such as "CUDA driver version is
/// insufficient for CUDA runtime version"; else "".
const std::string& gpu_error();

/// Creates no CUDA context.
/// \param index  0 to gpu_count() - 1
GpuInfo gpu_info(int index);

/// The memory of a GPU that no process uses, in bytes. In a process without a CUDA context it is
/// measured once, with a context that is destroyed again: a study asks for each run.
std::int64_t free_gpu_bytes(int index);

/// Makes a GPU current, with products that do not round float32 to TF32 and do not add up in
/// bfloat16.
/// \param is_deterministic  the same bits in every run
void use_gpu(int index, bool is_deterministic);

/// Waits until the GPU has done all work of this process. Does nothing in a CPU build.
void synchronize_gpu();

/// The largest memory of tensors on a GPU so far, in bytes; 0 in a CPU build.
std::int64_t gpu_peak_bytes(int index);

}  // namespace evenkeel::ops
