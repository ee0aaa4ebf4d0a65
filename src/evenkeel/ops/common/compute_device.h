// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace evenkeel::ops {

/// The device of the models of this process: the CPU until set_compute_device(). PyTorch:
/// torch.get_default_device(). Factory functions of LibTorch do not use it.
at::Device compute_device();

/// Sets compute_device(). For a GPU it creates the CUDA context.
/// \param is_deterministic  GPU: the same bits in every run on the same card and build, at the
///                          price of slower attention gradients
void set_compute_device(at::Device device, bool is_deterministic = true);

/// Sets compute_device(), and does no more: for a process that does not compute on it.
void name_compute_device(at::Device device);

/// The device that a name of --device means.
/// \param name  "cpu", "cuda:N", "cuda" (GPU local_rank modulo the number of GPUs) or "auto" (as
///              "cuda" if this build and machine have a GPU, else the CPU)
/// \param local_rank  the number of this process on its machine, from 0
/// \throws Error (usage, 64) for another name or a GPU number that the machine does not have;
///         (usage) for "cuda" in a CPU build; (busy, 75) for "cuda" if no GPU can be used
at::Device parse_device(const std::string& name, int local_rank = 0);

}  // namespace evenkeel::ops
