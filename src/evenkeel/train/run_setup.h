// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

/// Machine, texts and plan of a run, known before its model is built.
struct RunSetup {
  Machine machine;
  data::Corpora text;
  plan::Plan plan;  // of the model with the tokenizer's vocabulary
};

/// Configures the process, reads or generates the texts, and plans the run.
/// \throws Error (data) as data::load_corpora does; Error (usage) for a shape or a scheme that
///         cannot be built
RunSetup set_up_run(const config::Config& config);

/// The first lines of a run: program, machine, texts, model, folder; then notes on the scheme and
/// warnings.
void print_summary(const config::Config& config, const RunSetup& setup,
                   const std::filesystem::path& folder, Console& console);

}  // namespace evenkeel::train
