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

/// The command line: one source file per command, which adds its options to the program.
namespace evenkeel::cli {

/// Options that several commands share. Each command adds only those that affect it.
struct CommonOptions {
  std::optional<std::string> preset;         // --preset: a name
  std::optional<std::string> scheme;         // --scheme: a name or a .toml file
  std::vector<std::filesystem::path> files;  // --config, in the order of the command line
  std::vector<std::string> sets;             // --set: "train.steps=2000"
  std::optional<std::filesystem::path> run;  // --run: a run folder
  std::string device = "auto";               // --device
  std::string quantize;                      // --quantize: "int8", or "" for no quantization
  bool json = false;                         // --json: results as JSON on standard output
  bool quiet = false;                        // --quiet: no progress on standard error

  /// The sources of the configuration, without the run's own.
  config::Sources sources() const { return {preset, files, scheme, sets}; }
  /// sources(), with run.toml of --run as the first file, which later sources override.
  /// \throws Error (no_checkpoint) if --run names no run folder
  config::Sources sources_with_run() const;
};

/// A command, its options, and the function that runs it after parsing. A command prints its result
/// on standard output, everything else on standard error.
struct Verb {
  Command command;
  std::function<Exit()> body;
  bool computes = false;         // body() runs a model, so run() calls ops::warm_up_mkl() before it
  bool catches_signals = false;  // body() calls train::catch_signals()
};

// Each function adds options that are bound to `common`, which must outlive the parsing.

/// --preset, --config, --scheme, --set
void add_config_options(const Command& command, CommonOptions& common);
/// --config, --set
void add_file_and_set_options(const Command& command, CommonOptions& common);
/// --run: a run folder, whose existence the command checks itself
void add_run(const Command& command, CommonOptions& common, const char* help = "run folder");
/// --device, for use_device()
void add_device(const Command& command, CommonOptions& common);
/// --quantize, for TrainedModel::model->quantize()
void add_quantize(const Command& command, CommonOptions& common);
/// --json: one JSON value on standard output instead of text
void add_json(const Command& command, CommonOptions& common);
/// --quiet: no progress on standard error
void add_quiet(const Command& command, CommonOptions& common);

/// Makes --device the device of all models of this process (ops::parse_device()).
/// \throws Error (usage) for an invalid device; (busy, exit code 75) if no GPU was found
void use_device(const CommonOptions& common);
/// Likewise for a process that computes nothing itself: it creates no CUDA context.
void name_device(const CommonOptions& common);

/// printable() of the text if standard output is a terminal; unchanged for files and pipes.
std::string terminal_safe(const std::string& text);

/// Warns of folders of runs that this process may not read: of three by name, of more by number.
/// \param folders  of store::unreadable_folders()
void warn_of_unreadable(const std::vector<std::filesystem::path>& folders);

/// Writes a path and a line end to standard output: its bytes into a file or a pipe, so that
/// `$(evenkeel report RUN)` is the path; printable_line() on a terminal.
void print_path(const std::filesystem::path& path);

/// Writes a result and a line end to standard output. Invalid UTF-8 becomes U+FFFD, characters that
/// a terminal acts on become \uXXXX.
/// \param indent  spaces per nesting level; -1: one line
void print_json(const nlohmann::ordered_json& result, int indent = -1);

/// Adds all commands to the program, in the order of its help. CMakeLists.txt generates the source
/// from verbs.txt. The command NAME is added by the function
///   Verb add_NAME(const Command& program);
std::vector<Verb> add_verbs(const Command& program);

/// The summary of a command in verbs.txt.
std::string verb_summary(const std::string& name);

}  // namespace evenkeel::cli
