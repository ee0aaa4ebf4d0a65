// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "evenkeel/comm/roll_call.h"

namespace evenkeel::comm {

/// What a rank trains on.
struct RankDevice {
  at::Device device = at::kCPU;
  std::string gpu;        // the UUID of the GPU; empty: the CPU
  int gpus = 0;           // that this process sees
  bool is_named = false;  // by its number: ranks may share it
};

/// How tensors on the device of a rank are exchanged.
enum class DeviceEngine {
  none,         // they are in CPU memory
  host_memory,  // Gloo, with copies in CPU memory
  nccl,
};

/// Ranks of this machine on the GPU of `rank`, this one among them; on a CPU those of the machine.
int ranks_on_device(const std::vector<Member>& members, int rank);

/// "4 ranks on this machine, but 2 GPUs: ..."
std::string too_few_gpus_text(int ranks, int gpus);

/// The engine for distributed.backend: "auto" is NCCL where each rank has a GPU of its own. All
/// ranks get the same one.
/// \param members   by rank, as of roll_call()
/// \param has_nccl  equal on all ranks
/// \throws Error (usage, exit code 64) if ranks share a GPU that was not named; for "nccl" if any
///         ranks share a GPU, or there is no NCCL
DeviceEngine device_engine(const std::vector<Member>& members, int rank, const RankDevice& device,
                           const std::string& backend, bool has_nccl);

}  // namespace evenkeel::comm
