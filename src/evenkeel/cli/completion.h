// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/cli/command.h"

/// Completion of the command line in a shell, generated from the commands and options that the
/// program has.
namespace evenkeel::cli {

/// What completes a value.
struct ValueWords {
  enum class Kind { none, words, files, runs };
  Kind kind = Kind::none;          // words: `words` alone; files, runs: in addition to `words`
  std::vector<std::string> words;  // names, or keys with "="
  bool operator==(const ValueWords&) const = default;
};

/// An option with its completion. Positional arguments complete where no option is expected.
struct CompletedOption {
  OptionInfo info;
  ValueWords value;
};

/// A command with its completion.
struct CompletedCommand {
  std::string path;  // "probe theory"; "" for the program
  std::vector<CompletedOption> options;
  std::vector<CommandInfo> subcommands;  // without hidden ones
  ValueWords positional;                 // of all its positional arguments
};

/// The commands of the program and their subcommands.
std::vector<CompletedCommand> completed_commands(const CommandInfo& program);

/// Options whose values complete alike: the option `--preset` of `train` is "train --preset".
struct ValueGroup {
  ValueWords value;
  std::vector<std::string> options;
};

/// All options with a value, in groups.
std::vector<ValueGroup> value_groups(const std::vector<CompletedCommand>& commands);

/// Words with a separator between them. \param quote  before and after each
std::string joined_words(const std::vector<std::string>& words, std::string_view separator,
                         std::string_view quote = "");

/// The names of the subcommands.
std::vector<std::string> subcommand_names(const std::vector<CommandInfo>& commands);

/// The script for a shell.
std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace evenkeel::cli
