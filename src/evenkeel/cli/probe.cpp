// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/probe.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "evenkeel/base/nearest.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/probe.h"
#include "evenkeel/cli/trained_texts.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/measures.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/report/report.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/load_run.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kProbeExamples = R"(Examples:
  evenkeel probe --run runs/x-1                         a checkpoint; also into its probes.jsonl
  evenkeel train --set probe.steps=[1,100]              during a run: update_ratio, stream_shift)";

/// Options of `probe`. `what` has names of measures; empty: probe.what of the configuration.
struct ProbeOptions {
  CommonOptions common;
  std::vector<std::string> what;
};

/// The measures of one forward and backward pass, with scheme and step of the model.
struct ProbeOutput {
  std::string scheme, split;  // split: "training" or "validation"
  std::int64_t step = 0;
  probe::ProbeResult result;
};

/// Why `probe` cannot measure `name` in this model; "" if it can.
std::string obstacle(const std::string& name, const config::Config& config) {
  if (name == "all") return "";
  const auto* const measure = config::measure_named(name);
  if (measure->of_update) {
    return text(
        "is measured inside a run: evenkeel train --set probe.steps=[100] --set "
        "probe.what=[\"",
        name, "\"]");
  }
  if (measure->of_experts && config.experts.count == 0) {
    return "is measured in a mixture of experts, but model.experts.count is 0";
  }
  return "";
}

/// The measures of --what, or of probe.what if the command line has no --what.
/// \throws Error (usage) for an unknown measure, for one of --what with an obstacle, and if all of
///         probe.what have one
std::set<std::string> selected_measures(const ProbeOptions& options, const config::Config& config) {
  const auto known = config::measure_names();
  for (const auto& word : options.what) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw Error(Exit::usage,
                  text("--what ", word, ": no measure has this name", did_you_mean(word, known)));
    }
    if (const auto why = obstacle(word, config); !why.empty()) {
      throw Error(Exit::usage, text("--what ", word, ": ", why));
    }
  }
  const auto& names = options.what.empty() ? config.probe.what : options.what;
  const bool measures_none = std::all_of(names.begin(), names.end(), [&](const auto& name) {
    return !obstacle(name, config).empty();
  });
  if (measures_none) {
    throw Error(Exit::usage,
                text("probe.what: ", names.front(), " ", obstacle(names.front(), config),
                     "; --what chooses other measures"));
  }
  return probe::without_updates(probe::measures_named(names));
}

/// Measures a model with initial weights on one batch of training text.
ProbeOutput probe_fresh_model(const ProbeOptions& options) {
  auto config = config::resolve(options.common.sources());
  if (!config.train.from.empty()) {
    throw Error(Exit::usage, text("train.from has no effect on a model with initial weights; for "
                                  "those of a run: evenkeel probe --run ",
                                  config.train.from));
  }
  const auto what = selected_measures(options, config);
  const auto machine = train::configure_machine(config.train);
  const auto corpora =
      data::load_corpora(config.data, config.model.context, config.model.vocabulary);
  for (const auto& warning : corpora.warnings) print_message("warning: " + warning);
  const auto plan = plan::plan_of(config, machine, corpora.encoding->vocabulary());
  config = plan::with_recompute(std::move(config), plan);
  train::Trainer trainer(config, plan.scheme.shape, machine.precision, corpora);
  return {config.scheme.name, "training", 0, trainer.run_probe(what)};
}

/// Which text `probe --run` reads if a mixture has several validation texts; "" if it has one.
std::string first_source_note(const std::vector<data::Source>& sources) {
  if (sources.size() == 1) return "";
  return text("note: probe reads the validation text of the first of ", sources.size(),
              " data sources only: ", sources.front().name);
}

/// Why this process cannot record a probe in a run that is shared read-only; "" if it can.
std::string obstacle_to_record(const std::filesystem::path& run) {
  for (const auto& each : {run, run / "lock", run / "probes.jsonl"}) {
    const int error = ::access(each.c_str(), W_OK) == 0 ? 0 : errno;
    if (error == EACCES || error == EROFS) return text(each.string(), ": ", std::strerror(error));
  }
  return "";
}

/// Appends a result to probes.jsonl of the run and rewrites its report.html.
void record_probe(const store::Lock& lock, const ProbeOutput& output) {
  lock.check_path();
  store::JsonLinesFile records(lock.directory(), "probes.jsonl");
  for (const auto& profile : output.result.profiles) {
    records.append(probe::record(output.step, output.split, profile));
  }
  report::write_run_report(lock.directory());
}

/// Measures a checkpoint on validation text, and records the result. A run that may not be written
/// is measured with a warning.
/// \throws Error (no_checkpoint, differs, busy, io)
ProbeOutput probe_run(const ProbeOptions& options) {
  const auto& common = options.common;
  const auto loaded = train::load_run(common.run, common.sources(), {}, nn::ParameterUse::training);
  std::optional<store::Lock> lock;
  const auto read_only = obstacle_to_record(*common.run);
  if (read_only.empty()) lock.emplace(*common.run);  // load_run() has checked that it is a run
  for (const auto& line : loaded.warnings) print_message(line);
  for (const auto& line : loaded.skipped) print_message(line);
  const auto& config = loaded.config;
  const auto what = selected_measures(options, config);
  const auto corpora = corpora_of_run(loaded);
  check_trained_texts(common, loaded, corpora);
  if (const auto note = first_source_note(corpora.validation); !note.empty()) print_note(note);
  const auto batch = data::evenly_spaced_text(corpora.validation.front().corpus,
                                              config.model.context, config.train.batch);
  const auto micro_batch_size = plan::micro_batch_size(config, loaded.shape.vocabulary);
  ProbeOutput output{
      config.scheme.name, "validation", loaded.step,
      probe::run_probe(*loaded.model, *loaded.parameters, {config.experts, config.train.z_loss},
                       batch, what, micro_batch_size, plan::planned_steps(config))};
  if (lock) {
    record_probe(*lock, output);
  } else {
    print_message(text("warning: nothing is recorded in probes.jsonl of the run: ", read_only));
  }
  return output;
}

/// Scheme, step, split ("on"), loss in nats per token, and one profile per measure and part.
nlohmann::ordered_json probe_as_json(const ProbeOutput& output) {
  auto profiles = nlohmann::ordered_json::array();
  for (const auto& profile : output.result.profiles) {
    profiles.push_back(probe::record(output.step, output.split, profile));
  }
  return {{"scheme", output.scheme},
          {"step", output.step},
          {"on", output.split},
          {"loss", output.result.loss},
          {"profiles", std::move(profiles)}};
}

/// Measures the model of --run, or a new one, and prints the profiles as a table or as JSON.
Exit run_probe(const ProbeOptions& options) {
  use_device(options.common);
  const auto output = options.common.run ? probe_run(options) : probe_fresh_model(options);
  if (options.common.json) {
    print_json(probe_as_json(output));
    return Exit::success;
  }
  print("%s, step %lld, a batch of %s text: loss %.4f nats per token\n\n%s", output.scheme.c_str(),
        static_cast<long long>(output.step), output.split.c_str(), output.result.loss,
        probe::probe_table(output.result).c_str());
  return Exit::success;
}

/// The end of the help: examples, and one line per measure that needs no optimizer step.
std::string footer() {
  auto out = text(kProbeExamples, "\nMeasures (docs/probes.md; all: those without a star):\n");
  constexpr std::size_t kColumn = 22;
  for (const auto& measure : config::measures()) {
    if (measure.of_update) continue;
    std::string name = measure.name;
    if (!measure.by_default) name += " *";
    name.resize(kColumn, ' ');
    out += text("  ", name, measure.meaning, "\n");
  }
  return out;
}

/// Checks that no option of `probe` precedes a subcommand, where it would have no effect.
/// \throws Error (usage) if one does
void check_no_options_before(const Command& probe, const Command& subcommand) {
  const auto given = probe.first_given();
  if (!given) return;
  throw Error(Exit::usage,
              text(*given, " before ", subcommand.name(), " has no effect; `evenkeel probe ",
                   subcommand.name(), " --help` lists its options"));
}

}  // namespace

/// `probe` runs one forward and backward pass on the first batch and prints measures by layer
/// (docs/probes.md): of a new model, or of the checkpoint of --run. Records of a checkpoint are
/// also appended to probes.jsonl of the run, unless it may not be written. The weights do not
/// change. Exit codes: 64 an unknown measure; 75 another process holds the run; 77 no valid
/// checkpoint; 78 a setting or the validation text differs from the run's.
Verb add_probe(const Command& program) {
  const auto options = std::make_shared<ProbeOptions>();
  const auto command = program.add_subcommand("probe", verb_summary("probe"));
  add_config_options(command, options->common);
  add_run(command, options->common,
          "run folder whose checkpoint is measured; default: a new model");
  command
      .add_option("--what", options->what,
                  "a measure listed below, or all; default: key probe.what")
      .type_name("MEASURE")
      .repeated();
  add_device(command, options->common);
  add_json(command, options->common);
  command.footer(footer());
  const std::vector<Verb> subcommands = {add_probe_theory(command), add_probe_invariance(command)};
  return {command,
          [options, command, subcommands] {
            for (const auto& subcommand : subcommands) {
              if (!subcommand.command.parsed()) continue;
              check_no_options_before(command, subcommand.command);
              return subcommand.body();
            }
            return run_probe(*options);
          },
          /*computes=*/true};
}

}  // namespace evenkeel::cli
