// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace evenkeel::comm {

/// The functions of NCCL's C API that the engine calls, as nccl.h declares them: results are those
/// of ncclResult_t, of which 0 is success. LibTorch with CUDA links libnccl.so.2, so the functions
/// are in this process, and a build needs no header of NCCL.
/// \source docs.nvidia.com/deeplearning/nccl/user-guide/docs/api
struct NcclLibrary {
  using Communicator = struct NcclCommunicator*;  // ncclComm_t
  struct UniqueId {                               // ncclUniqueId
    char bytes[128];
  };
  static constexpr int kSuccess = 0;     // ncclSuccess
  static constexpr int kInProgress = 7;  // ncclInProgress
  static constexpr int kBytes = 1;       // ncclUint8

  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(UniqueId* id) = nullptr;
  int (*init_rank)(Communicator* made, int ranks, UniqueId id, int rank) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*async_error)(Communicator, int* result) = nullptr;
  const char* (*error_text)(int result) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  /// \param stream  cudaStream_t
  int (*send)(const void* from, std::size_t count, int type, int to, Communicator,
              void* stream) = nullptr;
  int (*receive)(void* to, std::size_t count, int type, int from, Communicator,
                 void* stream) = nullptr;
};

/// NCCL in this process; nullptr: there is none.
const NcclLibrary* nccl_library();

/// "2.29.7"; empty: there is no NCCL in this process.
std::string nccl_version();

}  // namespace evenkeel::comm
