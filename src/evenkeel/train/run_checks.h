// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/train/console.h"

/// Checks of a configuration before the first step.
namespace evenkeel::train {

/// \param needed  predicted memory, bytes
/// \throws Error (busy, exit code 75) if it is above 1.25 times the installed memory
void check_installed_memory(double needed);

/// Compares the predicted memory of a step (nn::footprint) with that of the machine or GPU. Too
/// little available memory is only a warning, because it changes.
/// \param predicted    of one process
/// \param processes    of this machine, or on this GPU, that take as much
/// \throws Error (busy, exit code 75) if the prediction is above 1.25 times the installed memory;
///         the kernel would end this process or another one
void check_memory(const nn::Footprint& predicted, int processes, Console& console);

/// Compares the memory of a model that is evaluated with the memory of the machine: weights, for
/// training also their gradients, rotary angles and the key-value cache of one sequence. A
/// configuration can ask for a context of any size, without any tensor of that size.
/// \throws Error (busy, exit code 75) if it needs more than the installed memory
void check_inference_memory(const std::vector<nn::ParameterSpec>& specs, const norm::Shape& shape,
                            nn::Precision precision, nn::ParameterUse use);

/// Warns of `probe.steps` after the last step. This is no error: the configuration may be shared
/// with longer runs.
void warn_of_unreached_probes(const config::Config& config, std::int64_t steps, Console& console);

/// Prints a note if the run ends during the warm-up. This is no error: short trial runs are common.
void note_unreached_peak(std::int64_t steps, const optim::Schedule& schedule, Console& console);

}  // namespace evenkeel::train
