// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Commands and options of the command line. CLI11 parses them. Only command.cpp includes CLI11,
/// whose templates add four seconds to the compile time of a file.
namespace evenkeel::cli {

/// An option of a command. A copy refers to the same option. Each function returns the option
/// itself, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// The name of the value in the help, "FILE".
  Option& type_name(const std::string& name);
  /// The help shows the current value of the target as the default.
  Option& show_default();
  /// Makes the option mandatory.
  Option& required();
  /// Accepts the option several times, each time with one or more values.
  Option& repeated();
  /// Rejects an empty path: "--run: must be a path, but is empty".
  Option& not_empty();
  /// Rejects all values except these.
  Option& one_of(const std::vector<std::string>& choices);
  /// Rejects numbers outside [least, most].
  Option& between(int least, int most);
  /// Makes the two options mutually exclusive.
  Option& excludes(const Option& other);

 private:
  friend class Command;
  CLI::Option* option_;
};

/// What the help says about an option.
struct OptionInfo {
  std::vector<std::string> names;  // "-h", "--help"; of a positional argument its name
  std::string value;               // name of its value, "FILE"; "" for a flag
  std::string help;
  std::vector<std::string> choices;  // of Option::one_of()
  bool is_positional = false;
  bool is_repeated = false;  // several values
};

/// What the help says about a command, with its subcommands.
struct CommandInfo {
  std::string name, help, footer;
  bool is_hidden = false;
  std::vector<OptionInfo> options;  // positional arguments first
  std::vector<CommandInfo> subcommands;
};

/// A command: `evenkeel`, `evenkeel probe` or `evenkeel probe theory`. A copy refers to the same
/// command.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  /// Adds a subcommand; the help lists it with `help`.
  Command add_subcommand(const std::string& name, const std::string& help) const;
  /// Requires exactly one subcommand.
  void require_subcommand() const;
  /// Allows at most one subcommand.
  void allow_subcommand() const;

  /// Adds an option with a value.
  /// \param name    "--run"; without dashes a positional argument
  /// \param target  gets the value; must outlive the parsing. T: a string, number or path, or an
  ///                optional or vector of strings or paths (command.cpp has the list)
  template <typename T>
  Option add_option(const std::string& name, T& target, const std::string& help) const;
  /// Adds an option without a value, which sets `target` to true.
  Option add_flag(const std::string& name, bool& target, const std::string& help) const;
  /// The option of this name, which must exist.
  Option option(const std::string& name) const;
  /// Removes an option that a shared function added.
  void remove_option(const std::string& name) const;
  /// Makes the command and the option mutually exclusive.
  void excludes(const Option& option) const;
  /// Text at the end of the help: examples.
  void footer(const std::string& content) const;

  /// The help of the program does not list the command.
  void hide() const;
  /// What the help says about the command.
  CommandInfo info() const;

  /// The name on the command line: "probe", "theory".
  std::string name() const;
  /// True if the command line has this command; valid after Program::parse().
  bool parsed() const;
  /// The name of the first option of this command (not of its subcommands) on the command line;
  /// nullopt if there is none.
  std::optional<std::string> first_given() const;

 private:
  CLI::App* app_;
};

/// The command line of the program; owns all its commands and options.
class Program {
 public:
  /// \param version  the line that --version prints
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();

  Command command() const { return Command(app_.get()); }

  /// Parses the command line.
  /// \return the exit code after --help or --version, whose text is printed; nullopt: run the
  /// command
  /// \throws Error (usage) for an unknown option or an invalid value
  std::optional<int> parse(int argc, char** argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace evenkeel::cli
