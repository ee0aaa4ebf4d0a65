// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/train/console.h"

/// Checks of a configuration before the first step of a run.
namespace evenkeel::train {

/// Compares the predicted memory of a step (plan::Plan::memory) with that of the machine. The free
/// memory changes, so too little of it is a warning only.
/// \throws Error (busy) above 1.25 times the installed memory: the kernel would end some process,
///         and perhaps another one
void check_memory(const nn::Footprint& predicted, Console& console);

/// Warns of entries of `probe.steps` after the last step. No error: the same configuration may be
/// meant for longer runs.
void warn_of_unreached_probes(const config::Config& config, Console& console);

/// Notes that the run ends before the warm-up does. No error: a trial run of a few steps is no
/// mistake.
void note_unreached_peak(const config::Config& config, const optim::Schedule& schedule,
                         Console& console);

}  // namespace evenkeel::train
