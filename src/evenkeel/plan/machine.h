// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/nn/parameters.h"

namespace evenkeel::plan {

/// Arithmetic, threads and memory of a process.
struct Machine {
  nn::Precision precision = nn::Precision::float32;
  at::Device device = at::kCPU;
  bool widened_products = false;  // bfloat16 of float32 copies: ops/linear/widened_product.h
  int threads = 1;                // threads of LibTorch and of the kernels
  std::int64_t ranks = 1;         // of the run
  double free_memory = 0;         // of the device, for this process, in bytes; 0: unknown
  std::string isa;          // instructions of the kernels: "amx-bf16", "avx512", "avx2", "sm_90"
  std::string description;  // one line for the user: "AMD EPYC, avx2, 2 threads, float32 (...)"
};

}  // namespace evenkeel::plan
