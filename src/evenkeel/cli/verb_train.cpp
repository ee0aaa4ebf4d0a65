// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/ranks.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/synonyms.h"
#include "evenkeel/report/run.h"
#include "evenkeel/train/train.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kTrainExamples = R"(Examples:
  evenkeel train                                           the built-in corpus, about a minute
  evenkeel train --set data.train=book.txt                 your own text
  evenkeel train --scheme pre_norm --set seed=2            another scheme, another seed
  evenkeel train --run runs/hybrid_norm_star-tiny-1        go on with a run
  evenkeel train --ranks 2                                 two processes, docs/distributed.md
Ctrl-C finishes the step, saves, and says how to go on. Keys: docs/configuration.md)";

/// The progress of a run and its last finite values: losses in nats per token, "val_gap" in nats
/// per byte; null: not measured.
nlohmann::ordered_json train_as_json(const std::filesystem::path& folder) {
  const auto run = report::read_run(folder);
  return {{"run", folder.string()},
          {"scheme", run.scheme},
          {"preset", run.preset},
          {"state", run.state},
          {"step", std::llround(run.step)},
          {"steps", std::llround(run.steps)},
          {"loss", report::last_finite(run.loss.y)},
          {"val_loss", report::last_finite(run.validation_loss.y)},
          {"val_gap", report::last_finite(run.gap.y)},
          {"report", (folder / "report.html").string()}};
}

/// Checks a value of --override. "numerics" allows another instruction set or LibTorch version.
/// \throws Error (usage) unless `name` is a key, a table or "numerics"
void check_override(const std::string& name) {
  std::vector<std::string> known = {"numerics", "scheme"};
  for (const auto& section : config::sections()) {
    if (!section.name.empty()) known.emplace_back(section.name);
    for (const auto& key : section.keys) known.push_back(config::full_name(section, key));
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw Error(Exit::usage, text("--override ", name, ": must be a key, a table or \"numerics\"",
                                did_you_mean(config::key_of_synonym(name), known,
                                             "docs/configuration.md lists them")));
}

struct TrainOptions {
  CommonOptions common;
  std::vector<std::string> overrides;
  RankOptions ranks;
  std::optional<std::int64_t> checkpoint;
};

/// \throws Error (usage)
void check_train_options(const TrainOptions& options) {
  for (const auto& name : options.overrides) check_override(name);
  if (!options.checkpoint) return;
  if (!options.common.run) {
    throw Error(Exit::usage,
                "--checkpoint goes back to a step of a run, but no run is named; add --run FOLDER");
  }
  const auto restarts = comm::process_environment()("TORCHELASTIC_MAX_RESTARTS");
  if (options.ranks.restarts == 0 && restarts.value_or("0") == "0") return;
  throw Error(Exit::usage,
              text("--checkpoint: each restart of ",
                   options.ranks.restarts > 0 ? "--restarts" : "torchrun --max-restarts",
                   " would go back again; go back without restarts first"));
}

/// train::train(). With --json a run that diverges prints its state, too.
train::Result train_or_say_why(const TrainOptions& options, comm::Group& group) {
  const auto& common = options.common;
  std::filesystem::path folder;
  try {
    return train::train({.sources = common.sources(),
                         .run = common.run,
                         .overrides = options.overrides,
                         .checkpoint = options.checkpoint,
                         .quiet = common.quiet,
                         .opened = [&](const auto& opened) { folder = opened; }},
                        group);
  } catch (const Error& error) {
    const bool diverged = error.exit() == Exit::diverged && !folder.empty();
    if (diverged && common.json && group.is_first()) print_json(train_as_json(folder));
    throw;
  }
}

/// Trains as a rank of the group. Rank 0 prints a summary, or JSON.
/// \return the exit code of train::train()
/// \throws Error (diverged)
Exit train_rank(const TrainOptions& options, comm::Group& group) {
  const auto& common = options.common;
  const auto result = train_or_say_why(options, group);
  if (!group.is_first()) return result.exit;
  if (common.json) {
    print_json(train_as_json(result.folder));
  } else {
    print_bytes(terminal_safe(train::closing_text(result, common.quiet)));
  }
  return result.exit;
}

/// Starts the ranks of --ranks, or trains.
Exit run_train(const TrainOptions& options) {
  const auto& common = options.common;
  check_train_options(options);
  if (common.quiet) silence_notes();
  check_devices(common, options.ranks);
  if (const auto exit = launch_ranks(common, options.ranks)) return *exit;
  use_device(common);  // not earlier: the launcher needs no GPU
  auto group = join_ranks(common);
  return run_rank(group, [&] { return train_rank(options, group); });
}

}  // namespace

/// `train` creates a run folder (default runs/SCHEME-PRESET-NUMBER), or resumes the run of --run.
/// Exit codes: 75 another process holds the run, or memory is short; 76 training diverged; 77 no
/// valid checkpoint; 78 a setting differs from the run's, without --override.
Verb add_train(const Command& program) {
  const auto options = std::make_shared<TrainOptions>();
  const auto command = program.add_subcommand("train", verb_summary("train"));
  add_config_options(command, options->common);
  add_run(command, options->common,
          "folder to make or to resume; default: a new runs/SCHEME-PRESET-NUMBER");
  add_device(command, options->common);
  add_json(command, options->common);
  add_quiet(command, options->common);
  command
      .add_option("--override", options->overrides,
                  "on resume: a key that may differ from the start of the run")
      .type_name("KEY");
  command
      .add_option("--checkpoint", options->checkpoint,
                  "go back to this step of the run, and delete later checkpoints")
      .type_name("STEP")
      .between(0, std::numeric_limits<int>::max());
  add_ranks(command, options->ranks);
  add_restarts(command, options->ranks);
  command.footer(kTrainExamples);
  return {command, [options] { return run_train(*options); },
          /*computes=*/true, /*catches_signals=*/true};
}

}  // namespace evenkeel::cli
