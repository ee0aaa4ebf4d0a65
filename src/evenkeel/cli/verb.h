// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/command.h"
#include "evenkeel/config/config.h"

/// The command line. One file a verb; each adds itself to the program.
namespace evenkeel::cli {

/// The options that several verbs share; each verb adds those that mean something to it.
struct CommonOptions {
  std::optional<std::string> preset, scheme;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> sets;
  std::optional<std::filesystem::path> run;
  std::string device = "cpu";
  bool json = false, quiet = false;

  config::Sources sources() const { return {preset, files, scheme, sets}; }
  /// The same, with the run's own configuration as the lowest file.
  /// \throws Error (usage) if --run names no run folder
  config::Sources sources_with_run() const;
};

/// A verb: its options are bound when it is added, its body runs after parsing.
struct Verb {
  Command command;
  std::function<Exit()> body;
};

void add_config_options(const Command& command,
                        CommonOptions& common);  // --preset, --config, --scheme, --set
void add_file_and_set_options(const Command& command, CommonOptions& common);  // --config, --set
void add_run(const Command& command, CommonOptions& common, const char* help = "run folder");
void add_device(const Command& command, CommonOptions& common);
void add_json(const Command& command, CommonOptions& common);
void add_quiet(const Command& command, CommonOptions& common);

/// \throws Error (usage) for a device this build does not have
void check_device(const CommonOptions& common);

/// The text itself; on a terminal with U+FFFD for control characters, which might upset it.
std::string terminal_safe(const std::string& text);

/// Writes a result to standard output, with a line end; bytes that are not UTF-8 as U+FFFD.
/// \param indent  of what stands inside; -1: one line
void print_json(const nlohmann::ordered_json& result, int indent = -1);

Verb add_train(const Command& program);
Verb add_generate(const Command& program);
Verb add_eval(const Command& program);
Verb add_verify(const Command& program);
Verb add_schemes(const Command& program);
Verb add_probe(const Command& program);
Verb add_plan(const Command& program);
Verb add_config(const Command& program);
Verb add_report(const Command& program);
Verb add_bench(const Command& program);
Verb add_runs(const Command& program);
Verb add_study(const Command& program);

}  // namespace evenkeel::cli
