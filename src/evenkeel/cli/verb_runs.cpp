// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kRunsExamples = R"(Examples:
  evenkeel runs                      the folders under runs/
  evenkeel runs elsewhere --json)";

/// Four decimals; "-" if the run has no such number.
std::string number_text(const std::optional<double>& value) {
  return value ? with_decimals(*value, 4) : "-";
}

/// Time since the last write as text; whole days from 86,400 seconds on.
std::string age_text(double seconds) {
  constexpr double kDay = 86400;
  if (seconds >= kDay)
    return with_unit(static_cast<double>(static_cast<int>(seconds / kDay))) + " d";
  return duration_text(seconds);
}

/// One run. Losses are in nats per token, "val_gap" in nats per byte, "age_s" in seconds; null: not
/// known. "damaged_lines" counts those of metrics.jsonl.
nlohmann::ordered_json runs_as_json(const store::RunSummary& run) {
  const auto value = [](const std::optional<double>& v) {
    return v ? nlohmann::ordered_json(*v) : nlohmann::ordered_json();
  };
  return {{"run", run.folder.string()},
          {"scheme", run.scheme},
          {"preset", run.preset},
          {"state", run.state},
          {"step", run.step},
          {"steps", run.steps},
          {"loss", value(run.loss)},
          {"val_loss", value(run.val_loss)},
          {"val_gap", value(run.val_gap)},
          {"age_s", run.age_seconds},
          {"damaged_lines", run.damaged_lines}};
}

/// Prints the runs below a folder as a table or as a JSON array.
/// \return Exit::success, also without runs
Exit run_runs(const CommonOptions& common, const std::filesystem::path& folder) {
  const auto runs = store::list_runs(folder);
  if (common.json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& run : runs) all.push_back(runs_as_json(run));
    print_json(all);
    return Exit::success;
  }
  if (runs.empty()) {
    print("no runs in %s yet; `evenkeel train` makes one\n",
          printable_line(folder.string()).c_str());
    return Exit::success;
  }
  print("%-36s %-12s %15s %9s %9s %9s %9s\n", "run", "state", "step", "loss", "val loss", "gap",
        "age");
  for (const auto& run : runs) {
    const auto steps = std::to_string(run.step) + "/" + std::to_string(run.steps);
    print("%-36s %-12s %15s %9s %9s %9s %9s\n", printable_line(run.folder.string()).c_str(),
          printable_line(run.state).c_str(), steps.c_str(), number_text(run.loss).c_str(),
          number_text(run.val_loss).c_str(), number_text(run.val_gap).c_str(),
          age_text(run.age_seconds).c_str());
  }
  for (const auto& run : runs) {
    if (run.damaged_lines == 0) continue;
    print("%s: metrics.jsonl has lost %lld damaged %s\n",
          printable_line(run.folder.string()).c_str(), static_cast<long long>(run.damaged_lines),
          run.damaged_lines == 1 ? "line" : "lines");
  }
  return Exit::success;
}

}  // namespace

/// `runs` lists the run folders below a folder, sorted by name, then by number: state, step, last
/// losses in nats per token, gap to the entropy in nats per byte, and seconds since the last write.
/// Exit code: 0, also for an empty folder.
Verb add_runs(const Command& program) {
  struct Options {
    CommonOptions common;
    std::filesystem::path folder = "runs";
  };
  const auto options = std::make_shared<Options>();
  const auto command = program.add_subcommand("runs", verb_summary("runs"));
  add_json(command, options->common);
  command.add_option("folder", options->folder, "folder of the runs").type_name("FOLDER");
  command.footer(kRunsExamples);
  return {command, [options] { return run_runs(options->common, options->folder); }};
}

}  // namespace evenkeel::cli
