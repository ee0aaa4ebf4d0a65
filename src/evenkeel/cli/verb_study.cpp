// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/base/version.h"
#include "evenkeel/cli/study_dry_run.h"
#include "evenkeel/cli/study_options.h"
#include "evenkeel/cli/study_results.h"
#include "evenkeel/cli/study_slurm.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/plan/device_memory.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/study/study.h"
#include "evenkeel/train/machine.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStudyExamples = R"(Examples:
  evenkeel study                                     lists the studies
  evenkeel study placement --size smoke              some minutes; the same command resumes it
  evenkeel study depth --size desk --dry-run         number and cost of the runs
  evenkeel study mine.toml --set data.train=book.txt a study and a text of your own
  evenkeel study main --size desk --seeds 12         seeds 1 to 12
  evenkeel study main --size desk --seeds 13-24      new seeds for a new claim
  evenkeel study main --size desk --from runs.csv    judge recorded runs, train nothing
  evenkeel study main --size desk --workers          on each machine of a shared folder
  evenkeel study main --size desk --slurm | sbatch   the same as a Slurm job array
Ctrl-C saves all runs and writes a report of the finished ones. docs/studies.md)";

constexpr int kHeartbeatTimeout = 60;  // seconds
constexpr int kMaxAutoJobs = 16;

/// The cost of a run with this configuration.
study::RunCost cost_of(const config::Config& config) {
  data::check_unused_format(config);
  const auto machine = train::machine_of(config.train);
  const auto plan = plan::plan_of(config, machine, data::vocabulary_of(config));
  const auto precision = ops::dtype_name(nn::compute_dtype(machine.precision));
  const auto provenance = train::provenance_of(machine);
  auto arithmetic = text(precision, ' ', machine.isa);
  for (const char* const key : {"libtorch", "libtorch_isa", "float32_products"}) {
    arithmetic += text(' ', key, ' ', provenance.at(key).get<std::string>());
  }
  return {.parameters = plan.counts.total,
          .norm_parameters = plan.counts.norms,
          .memory_bytes = plan.memory.total(),
          .checkpoint_bytes =
              sizeof(float) * static_cast<double>(plan.counts.total) + plan.memory.moments,
          .flops = plan.flops(),
          .norms_share = plan.norm_flops_per_token / plan.flops_per_token,
          .paper_norms_share = plan.paper_norms_share,
          .steps = plan.steps,
          .precision = precision,
          .arithmetic = arithmetic};
}

/// Prints name, sizes and title of each built-in study.
Exit list_studies(bool json) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& name : study::catalogue()) {
    const auto file = study::find_study(name);
    const auto sizes = study::sizes_of(file.toml, file.path);
    const auto first = study::parse_study(file.toml, file.path, sizes.front());
    all.push_back({{"study", name}, {"sizes", sizes}, {"title", first.title}});
    if (json) continue;
    std::string joined;
    for (const auto& size : sizes) joined += (joined.empty() ? "" : " ") + size;
    print("%-16s %-18s %s\n", name.c_str(), joined.c_str(), first.title.c_str());
  }
  if (json) print_json(all);
  return Exit::success;
}

/// The size that the options name, or the first size of the file.
std::string size_of(const StudyOptions& options, const study::StudyFile& file) {
  if (!options.size.empty()) return options.size;
  const auto sizes = study::sizes_of(file.toml, file.path);
  return sizes.empty() ? "" : sizes.front();
}

/// The arguments of each worker: study, size, seeds, settings, device, folder, timeout, --strict.
std::vector<std::string> arguments_of(const StudyOptions& options, const std::string& size) {
  std::vector<std::string> words = {options.study};
  const auto add = [&](const char* option, const std::string& value) {
    words.emplace_back(option);
    words.push_back(value);
  };
  if (!size.empty()) add("--size", size);
  if (!options.seeds.empty()) add("--seeds", options.seeds);
  for (const auto& set : options.common.sets) add("--set", set);
  if (options.common.device != "auto") add("--device", options.common.device);
  if (options.common.run) add("--run", options.common.run->string());
  if (options.allow_changes) words.emplace_back("--override");
  if (options.heartbeat_timeout > 0) {
    add("--heartbeat-timeout", text(options.heartbeat_timeout));
  }
  if (options.strict) words.emplace_back("--strict");
  return words;
}

/// The command line that repeats the study, for the report.
std::string command_of(const StudyOptions& options, const std::string& size) {
  auto command = "evenkeel study " + shell_word(options.study);
  if (!size.empty()) command += " --size " + size;
  if (!options.seeds.empty()) command += " --seeds " + options.seeds;
  for (const auto& set : options.common.sets) command += " --set " + shell_word(set);
  if (options.common.device != "auto") command += " --device " + options.common.device;
  if (options.common.run) command += " --run " + shell_word(options.common.run->string());
  return command;
}

/// The study of the options, with seeds and --set applied. Its default folder is
/// runs/studies/NAME-SIZE, with -SEEDS-seeds appended for --seeds.
/// \throws Error (usage) for an invalid definition or option
study::StudyRequest request_of(const StudyOptions& options) {
  const auto file = study::find_study(options.study);
  const auto size = size_of(options, file);
  study::StudyRequest request{.study = study::parse_study(file.toml, file.path, size)};
  if (!options.seeds.empty()) study::set_seeds(request.study, options.seeds);
  for (const auto& set : options.common.sets) study::add_setting(request.study, set);
  const auto own = text(request.study.name, size.empty() ? "" : "-" + size,
                        options.seeds.empty() ? "" : "-" + options.seeds + "-seeds");
  request.folder =
      options.common.run.value_or(fs::path("runs") / "studies" / own).lexically_normal();
  if (!request.folder.has_filename()) request.folder = request.folder.parent_path();  // "folder/"
  request.cost = cost_of;
  request.provenance = text("evenkeel ", kVersion, " (", commit(), ") on ",
                            CpuFeatures::detect().name, ", ", CpuFeatures::detect().isa());
  request.command = command_of(options, size);
  request.allow_changes = options.allow_changes;
  request.is_worker = options.workers;
  request.heartbeat_timeout =
      options.heartbeat_timeout > 0 ? options.heartbeat_timeout : kHeartbeatTimeout;
  return request;
}

/// The folder of runs that studies share: `pool`, next to the folder of the study.
fs::path run_cache_of(const study::StudyRequest& request) {
  const auto parent = request.folder.parent_path();
  return (parent.empty() ? fs::path(".") : parent) / "pool";
}

/// Prints the batch script of a Slurm job array, and starts nothing.
/// \throws Error (usage) for a study that times its runs
Exit print_slurm(const StudyOptions& options, const study::StudyRequest& request,
                 const study::Resources& resources) {
  study::check_is_for_workers(request.study);
  const auto plan = study::dry_run(request, resources);
  if (plan.is_finished()) {
    print_message(
        text("study ", request.study.name, ": all runs are finished; no job array is needed"));
    return Exit::success;
  }
  const auto runs = plan.runs_left();
  const auto most = std::min<std::size_t>(runs, kMaxAutoJobs);
  const auto& size = request.study.size;
  std::error_code none;
  print("%s", slurm_script({.name = request.study.name + (size.empty() ? "" : "-" + size),
                            .executable = fs::read_symlink("/proc/self/exe", none),
                            .folder = fs::current_path(),
                            .study = arguments_of(options, size),
                            .runs = runs,
                            .tasks = options.array > 0 ? options.array : static_cast<int>(most),
                            .threads = std::max(1, options.jobs),
                            .run_bytes = plan.max_bytes})
                  .c_str());
  return Exit::success;
}

/// Prints the results and writes the figures.
Exit show_results(const StudyOptions& options, const study::Results& results,
                  const fs::path& folder) {
  if (options.common.json) {
    print_json(results_json(results, folder));
  } else {
    print_results(results, folder, options.from.has_value());
  }
  if (options.figures) write_figures(results, *options.figures, options.common.quiet);
  return exit_of(results, options.strict);
}

/// Prints how a runs.csv differs from what the study records.
void print_recorded_differences(const study::RecordedResults& recorded, const fs::path& file) {
  for (const auto& column : recorded.missing_columns) {
    print_message(text(file.string(), ": has no column \"", column, "\""));
  }
  if (const auto runs = recorded.changed_states; runs > 0) {
    print_message(text(file.string(),
                       ": fails_above = ", shortest(recorded.results.study.fails_above),
                       " changes the state of ", runs, runs == 1 ? " run" : " runs"));
  }
}

/// Judges the runs of a runs.csv.
Exit judge_recorded(const StudyOptions& options, study::StudyRequest request) {
  const auto recorded = study::recorded_results(std::move(request.study), *options.from,
                                                /*keeps_seeds=*/!options.seeds.empty());
  if (!options.common.quiet) print_recorded_differences(recorded, *options.from);
  return show_results(options, recorded.results, request.folder);
}

/// Lists the studies, prints a dry run, or runs the study and prints its results.
Exit run_study(const StudyOptions& options) {
  check_study_options(options);
  if (!options.from) name_device(options.common);  // runs are processes of their own
  if (options.study.empty()) return list_studies(options.common.json);
  const auto request = request_of(options);
  if (options.from) return judge_recorded(options, request);
  study::Resources resources{
      .executable = "/proc/self/exe",  // this very program, were it built anew meanwhile
      .run_cache = run_cache_of(request),
      .device = ops::compute_device().str(),
      .cores = options.jobs > 0 ? options.jobs : CpuFeatures::detect().cores,
      .memory_bytes = plan::device_memory().free,
      .minutes = request.study.minutes,
      .stop_requested = [] { return train::stop_wanted(); }};
  if (options.slurm) return print_slurm(options, request, resources);
  if (options.dry_run) {
    print_dry_run(request, resources, options.common.json);
    return Exit::success;
  }
  if (!options.common.quiet) {
    for (const auto& each : study::undecidable_claims(request.study)) print_message(each);
  }
  // A report says that the runs are there; those of [refine] may be missing.
  const bool has_runs = exists(request.folder / "runs.csv") && !request.study.refine;
  if (!request.is_worker && !has_runs) {
    const auto disk = study::disk_warning(study::dry_run(request, resources), resources.run_cache);
    if (!disk.empty()) print_message(disk);
  }
  train::catch_signals();
  study::ProgressTable progress_table(options.common.quiet);
  const auto results = study::run_study(request, std::move(resources), progress_table);
  return show_results(options, results, request.folder);
}

/// --workers, --heartbeat-timeout, --slurm, --array
/// \param dry_run  the option --dry-run
void add_worker_options(const Command& command, StudyOptions& options, const Option& dry_run) {
  const auto workers = command.add_flag(
      "--workers", options.workers, "one of several workers that share the folder of the study");
  command
      .add_option("--heartbeat-timeout", options.heartbeat_timeout,
                  "seconds until a silent worker loses its runs; default: 60")
      .type_name("SECONDS")
      .between(1, 86400);
  command
      .add_flag("--slurm", options.slurm,
                "print the script of a Slurm job array of workers, start nothing")
      .excludes(dry_run)
      .excludes(workers);
  command
      .add_option("--array", options.array,
                  "tasks of the Slurm job array; default: one per run, at most 16")
      .type_name("N")
      .between(1, 100000);
}

}  // namespace

/// `study` runs the missing runs of a study, tests its claims and writes report.html, report.md and
/// runs.csv. Runs are child processes with at most --jobs threads in total. Studies share runs in
/// the folder `pool`. Without a study it lists the catalogue. With --workers several processes,
/// also of several machines, share the runs; with --slurm it prints a job array of such workers.
/// Exit codes: 1 with --strict if a claim is contradicted; 70 a run crashed twice; 75 another
/// process holds the study; 78 the definition differs from the folder's, without --override.
Verb add_study(const Command& program) {
  const auto options = std::make_shared<StudyOptions>();
  const auto command = program.add_subcommand("study", verb_summary("study"));
  command
      .add_option("study", options->study, "name of a study, or a file; default: list the studies")
      .type_name("NAME|FILE");
  command
      .add_option("--size", options->size, "one of the sizes of the study file; default: the first")
      .type_name("SIZE");
  command
      .add_option("--seeds", options->seeds,
                  "seeds 1 to N, or A to B; default: those of the study file")
      .type_name("N|A-B");
  command
      .add_option("--set", options->common.sets, "a configuration key of all runs; may be repeated")
      .type_name("KEY=VALUE");
  add_run(command, options->common, "folder of the study; default: runs/studies/NAME-SIZE");
  command.add_option("--jobs", options->jobs, "threads of all runs together; default: one per core")
      .between(1, 4096);
  const auto dry_run = command.add_flag("--dry-run", options->dry_run,
                                        "print number and cost of the runs, start none");
  command.add_option("--from", options->from, "judge the runs of this runs.csv, train nothing")
      .type_name("FILE.csv")
      .excludes(dry_run);
  command.add_option("--figures", options->figures, "also write the figures as SVG files")
      .type_name("FOLDER")
      .excludes(dry_run);
  add_worker_options(command, *options, dry_run);
  command.add_flag("--strict", options->strict, "exit code 1 if a claim is contradicted");
  command.add_flag("--override", options->allow_changes,
                   "accept a study file, scheme or text unlike that of the folder");
  add_device(command, options->common);
  add_json(command, options->common);
  add_quiet(command, options->common);
  command.footer(kStudyExamples);
  return {command, [options] { return run_study(*options); }, /*computes=*/false,
          /*catches_signals=*/true};
}

}  // namespace evenkeel::cli
