// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"

/// The command line. One file a verb; each adds itself to the program.
namespace evenkeel::cli {

/// The options that several verbs share; each verb adds those that mean something to it.
struct Common {
  std::optional<std::string> preset, scheme;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> sets;
  std::optional<std::filesystem::path> run;
  std::string device = "cpu";
  bool json = false, quiet = false;

  config::Sources sources() const { return {preset, files, scheme, sets}; }
  /// The same, with the run's own configuration as the lowest file.
  /// \throws Error (usage) if --run names no run folder
  config::Sources sources_of_run() const;
};

/// A verb: its options are bound when it is added, its body runs after parsing.
struct Verb {
  CLI::App* app = nullptr;
  std::function<Exit()> body;
};

void add_layers(CLI::App& app, Common& common);   // --preset, --config, --scheme, --set
void add_changes(CLI::App& app, Common& common);  // --config, --set
void add_run(CLI::App& app, Common& common);
void add_device(CLI::App& app, Common& common);
void add_json(CLI::App& app, Common& common);
void add_quiet(CLI::App& app, Common& common);

/// Refuses an empty path: "--run: must be a path, but is empty".
CLI::Validator not_empty();

/// \throws Error (usage) for a device this build does not have
void check_device(const Common& common);

Verb add_train(CLI::App& program);
Verb add_generate(CLI::App& program);
Verb add_eval(CLI::App& program);
Verb add_verify(CLI::App& program);
Verb add_schemes(CLI::App& program);
Verb add_probe(CLI::App& program);
Verb add_plan(CLI::App& program);
Verb add_config(CLI::App& program);
Verb add_report(CLI::App& program);
Verb add_bench(CLI::App& program);
Verb add_runs(CLI::App& program);

}  // namespace evenkeel::cli
