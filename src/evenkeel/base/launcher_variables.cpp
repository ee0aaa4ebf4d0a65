// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/launcher_variables.h"

#include <algorithm>
#include <array>

namespace evenkeel {

namespace {

constexpr auto kNames = std::to_array<std::string_view>({
    // torchrun
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_NAME",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    // --ranks of Evenkeel (comm/launch.cpp)
    "EVENKEEL_LAUNCHER",
    "EVENKEEL_LOSS_FD",
    "EVENKEEL_STORE_FD",
    // MPICH
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    // srun
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_PROCID",
    "SLURM_STEPID",
    "SLURM_TASKS_PER_NODE",
});

constexpr auto kPrefixes = std::to_array<std::string_view>({
    "TORCHELASTIC_",
    "OMPI_COMM_WORLD_",
    "PMI_",   // of MPICH and srun
    "PMIX_",  // of Open MPI and srun
    "SLURM_STEP_",
});

}  // namespace

bool is_launcher_variable(std::string_view name) {
  const auto begins_name = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), begins_name);
}

}  // namespace evenkeel
