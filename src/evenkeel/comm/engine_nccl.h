// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>

#include "evenkeel/comm/nccl_library.h"
#include "evenkeel/comm/store.h"

namespace evenkeel::comm {

/// What connect_nccl() needs to know.
struct NcclOptions {
  int rank = 0, ranks = 1;
  at::Device device = at::kCUDA;      // of this rank and of all tensors; no other rank has it
  std::chrono::seconds timeout{600};  // of the connection, and of each wait
};

/// Connects all ranks by NCCL. Every rank calls it. The backend has groups of send() and recv():
/// startCoalescing(), sends and receives, endCoalescing(), whose Work::wait() returns when the GPU
/// has done them. They run on the stream that is current, after what is queued there.
/// \param library  nccl_library(), or that of a test, whose tensors may be in CPU memory
/// \throws std::exception, with what NCCL says
c10::intrusive_ptr<c10d::Backend> connect_nccl(const NcclLibrary& library, const Store& store,
                                               const NcclOptions& options);

}  // namespace evenkeel::comm
