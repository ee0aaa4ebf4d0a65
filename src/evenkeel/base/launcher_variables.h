// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace evenkeel {

/// True for an environment variable by which torchrun, srun, mpirun or --ranks gives a process its
/// rank. comm/place.cpp reads these variables. Variables of the whole job or of the machine are
/// none: SLURM_JOB_ID, SLURM_JOB_NODELIST, SLURM_CPUS_PER_TASK, CUDA_VISIBLE_DEVICES. A single
/// process that a rank starts must not inherit the variables of its rank.
/// \param name  without "=" and value
bool is_launcher_variable(std::string_view name);

}  // namespace evenkeel
