// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

/// Machine, texts and plan of a run: everything that is known before the model is built.
struct RunSetup {
  Machine machine;
  data::Corpora text;
  plan::Plan plan;  // of the model with the tokenizer's vocabulary
};

/// The configuration of a run, with the copy of the tokenizer in the run folder where the original
/// file is gone.
config::Config config_of_run(config::Config config, const std::filesystem::path& folder);

/// Configures the process, reads or generates the texts, and plans the run.
/// \param local_ranks  ranks of this run on this machine, which share its cores
/// \throws Error (data, exit code 65) as in data::load_corpora(); (usage, 64) for an invalid shape
///         or scheme
RunSetup set_up_run(const config::Config& config, std::int64_t local_ranks = 1);

/// Prints the summary of a run: program, machine, texts, model, folder; then notes on the scheme,
/// and warnings.
void print_summary(const config::Config& config, const RunSetup& setup,
                   const std::filesystem::path& folder, Console& console);

}  // namespace evenkeel::train
