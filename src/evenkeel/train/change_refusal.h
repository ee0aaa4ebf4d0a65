// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/train/open_run.h"

/// The refusals of a resume: changes of a run's configuration that are not permitted, that have no
/// effect, or that its checkpoint does not fit.
namespace evenkeel::train {

/// Refuses a change that needs an --override.
/// \param before  configuration of the run
/// \param after   configuration of the command
/// \throws Error (differs, exit code 78)
[[noreturn]] void refuse_without_override(const std::filesystem::path& run,
                                          const config::KeyDifference& difference,
                                          const config::Config& before,
                                          const config::Config& after);

/// Refuses a change that --override permits, but that no step is left to be trained with: run.toml
/// would say that the weights were trained with it.
/// \param planned  steps of the run by the configuration of its checkpoint
/// \throws Error (differs, exit code 78)
[[noreturn]] void refuse_without_effect(const OpenRun& run, const ConfigChange& change,
                                        std::int64_t planned);

/// \param before  configuration of the checkpoint
/// \throws Error (differs, exit code 78) if train.steps is below the steps that the run has, or
///         train.tokens is reached before its last step. No --override permits that: run.toml would
///         name fewer steps than trained the weights.
void check_length(const OpenRun& run, const config::Config& before);

/// \throws Error (no_checkpoint, exit code 77) for an imported run, whose checkpoint has no
///         optimizer state
void check_is_no_import(const OpenRun& run);

/// Calls `restore`. If the checkpoint does not fit a changed model, scheme or precision, the
/// message says which value of the run to go back to.
/// \param changes  OpenRun::changes
/// \throws what `restore` throws
void restore_with_advice(const std::vector<ConfigChange>& changes,
                         const std::function<void()>& restore);

}  // namespace evenkeel::train
