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

/// The options that several verbs share; each verb adds those that have an effect on it.
struct CommonOptions {
  std::optional<std::string> preset;         // --preset: a name
  std::optional<std::string> scheme;         // --scheme: a name or a .toml file
  std::vector<std::filesystem::path> files;  // --config, in the order of the command line
  std::vector<std::string> sets;             // --set: "train.steps=2000"
  std::optional<std::filesystem::path> run;  // --run: a run folder
  std::string device = "cpu";                // --device
  bool json = false;                         // --json: results as JSON on standard output
  bool quiet = false;                        // --quiet: no progress on standard error

  /// The sources of the configuration, without the run's own.
  config::Sources sources() const { return {preset, files, scheme, sets}; }
  /// As sources(), with run.toml of --run as the first file, which later sources override.
  /// \throws Error (usage) if --run names no run folder
  config::Sources sources_with_run() const;
};

/// A verb: its options are bound when it is added, its body runs after parsing.
struct Verb {
  Command command;
  std::function<Exit()> body;
  bool computes = false;  // the body runs a model, so MKL is warmed up before it
};

// Each function adds options that are bound to `common`, which must outlive the parsing.

/// --preset, --config, --scheme, --set
void add_config_options(const Command& command, CommonOptions& common);
/// --config, --set
void add_file_and_set_options(const Command& command, CommonOptions& common);
/// --run, --device, --json, --quiet: one each
void add_run(const Command& command, CommonOptions& common, const char* help = "run folder");
void add_device(const Command& command, CommonOptions& common);
void add_json(const Command& command, CommonOptions& common);
void add_quiet(const Command& command, CommonOptions& common);

/// Checks --device.
/// \throws Error (usage) for a device that this build does not support
void check_device(const CommonOptions& common);

/// The text with U+FFFD for control characters if standard output is a terminal; else unchanged.
std::string terminal_safe(const std::string& text);

/// Writes a result to standard output, with a line end; bytes that are not UTF-8 as U+FFFD.
/// \param indent  spaces a level; -1: one line
void print_json(const nlohmann::ordered_json& result, int indent = -1);

/// Adds all verbs to the program, in the order of its help. CMakeLists.txt generates the source
/// from its list of verbs: a verb NAME is added by the function
///   Verb add_NAME(const Command& program);
std::vector<Verb> add_verbs(const Command& program);

}  // namespace evenkeel::cli
