// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kRunsExamples = R"(Examples:
  evenkeel runs                      the folders under runs/, and those of studies
  evenkeel runs --sort loss          the smallest validation loss first
  evenkeel runs elsewhere --json)";

constexpr const char* kDefaultFolder = "runs";

/// Options of `runs`.
struct RunsOptions {
  CommonOptions common;
  std::filesystem::path folder = kDefaultFolder;
  std::string sort = "name";  // "name", "loss", "age"
};

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
  const auto count = [](std::int64_t n) {
    return n > 0 ? nlohmann::ordered_json(n) : nlohmann::ordered_json();
  };
  return {{"run", run.folder.string()},
          {"scheme", run.scheme},
          {"preset", run.preset},
          {"state", run.state},
          {"step", run.step},
          {"steps", run.steps},
          {"parameters", count(run.parameters)},
          {"tokens", run.tokens},
          {"loss", value(run.loss)},
          {"val_loss", value(run.val_loss)},
          {"best_val_loss", value(run.best_val_loss)},
          {"val_gap", value(run.val_gap)},
          {"tokens_per_s", value(run.tokens_per_second)},
          {"age_s", run.age_seconds},
          {"damaged_lines", run.damaged_lines}};
}

/// The cells of a run in the table.
std::vector<std::string> cells_of(const store::RunSummary& run) {
  const auto word = [](const std::string& name) {
    return name.empty() ? "-" : printable_line(name);
  };
  const auto size = [](double number) { return number > 0 ? with_unit(number) : "-"; };
  return {printable_line(run.folder.string()),
          word(run.state),
          text(run.step, "/", run.steps),
          word(run.scheme),
          word(run.preset),
          size(static_cast<double>(run.parameters)),
          size(static_cast<double>(run.tokens)),
          run.best_val_loss ? with_decimals(*run.best_val_loss, 4) : "-",
          size(run.tokens_per_second.value_or(0)),
          age_text(run.age_seconds)};
}

/// Prints the runs as columns that are as wide as their longest cell.
void print_table(const std::vector<store::RunSummary>& runs) {
  std::vector<std::vector<std::string>> rows = {{"run", "state", "step", "scheme", "preset",
                                                 "parameters", "tokens", "best val loss", "tok/s",
                                                 "age"}};
  for (const auto& run : runs) rows.push_back(cells_of(run));
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto is_word = [](std::size_t i) { return i < 2 || i == 3 || i == 4; };
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (is_word(i) ? row[i] + space : space + row[i]);
    }
    print("%s\n", line.c_str());
  }
}

/// Sorts by the best validation loss, runs without one last, or by the time of the last write.
void sort_runs(std::vector<store::RunSummary>& runs, const std::string& order) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  if (order == "name") return;  // find_runs() did
  std::stable_sort(runs.begin(), runs.end(), [&](const auto& one, const auto& other) {
    if (order == "age") return one.age_seconds < other.age_seconds;
    return one.best_val_loss.value_or(kLast) < other.best_val_loss.value_or(kLast);
  });
}

/// Prints the runs below a folder, or the run that it is, as a table or as a JSON array.
/// \return Exit::success, also without runs
/// \throws Error (data, exit code 65) if the folder is missing, unless it is that of new runs
Exit run_runs(const RunsOptions& options) {
  std::error_code none;
  if (!is_directory(options.folder, none) && options.folder != kDefaultFolder) {
    throw Error(Exit::data, text(options.folder.string(), ": must be a folder, but is ",
                                 exists(options.folder, none) ? "a file" : "missing",
                                 "; name a folder with runs"));
  }
  auto [runs, unreadable] = store::find_runs(options.folder);
  warn_of_unreadable(unreadable);
  sort_runs(runs, options.sort);
  if (options.common.json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& run : runs) all.push_back(runs_as_json(run));
    print_json(all);
    return Exit::success;
  }
  if (runs.empty()) {
    print("no runs in %s yet; `evenkeel train` makes one\n",
          printable_line(options.folder.string()).c_str());
    return Exit::success;
  }
  print_table(runs);
  for (const auto& run : runs) {
    if (run.damaged_lines == 0) continue;
    print("%s: metrics.jsonl has lost %lld damaged %s\n",
          printable_line(run.folder.string()).c_str(), static_cast<long long>(run.damaged_lines),
          run.damaged_lines == 1 ? "line" : "lines");
  }
  return Exit::success;
}

}  // namespace

/// `runs` lists the run folders below a folder, or a run itself: state, steps, model, best
/// validation loss in nats per token, speed, and time since the last write. Exit code: 0, also for
/// an empty folder; 65 for a missing one.
Verb add_runs(const Command& program) {
  const auto options = std::make_shared<RunsOptions>();
  const auto command = program.add_subcommand("runs", verb_summary("runs"));
  command
      .add_option("--sort", options->sort,
                  "by name, by best validation loss (loss), or by the last write (age)")
      .type_name("ORDER")
      .one_of({"loss", "age", "name"});
  add_json(command, options->common);
  command.add_option("folder", options->folder, "folder of the runs, or a run").type_name("FOLDER");
  command.footer(kRunsExamples);
  return {command, [options] { return run_runs(*options); }};
}

}  // namespace evenkeel::cli
