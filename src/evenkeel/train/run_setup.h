// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

/// Machine, texts and plan of a run: everything that is known before the model is built.
struct RunSetup {
  config::Config config;  // of this process: the run's, with "auto" of model.recompute resolved
  Machine machine;
  data::Corpora text;
  plan::Plan plan;  // of the model with the tokenizer's vocabulary
};

/// The configuration of a run, with the copy of the tokenizer in the run folder where the original
/// file is gone.
config::Config config_of_run(config::Config config, const std::filesystem::path& folder);

/// Configures the process, reads or generates the texts, and plans the run.
/// \param group  the ranks of this run; those on this machine share its cores and its memory
/// \throws Error (data, exit code 65) as in data::load_corpora(); (usage, 64) for an invalid shape
///         or scheme
RunSetup set_up_run(const config::Config& config, const comm::Group& group);

/// Prints the summary of a run: program, machine, texts, model, folder; then notes on the scheme,
/// and warnings.
void print_summary(const config::Config& config, const RunSetup& setup,
                   const std::filesystem::path& folder, Console& console);

}  // namespace evenkeel::train
