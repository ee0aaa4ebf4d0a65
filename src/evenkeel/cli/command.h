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

/// Commands and options of the command line. CLI11 parses them; only command.cpp sees it, because
/// its templates would cost four seconds of every file.
namespace evenkeel::cli {

/// An option of a command. A copy refers to the same option. Each function returns the option
/// itself, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// What the help shows as its value, "FILE".
  Option& type_name(const std::string& name);
  /// The help shows the present value of the target as the default.
  Option& show_default();
  /// The command line is refused without this option.
  Option& required();
  /// May be given several times, with one value each or more.
  Option& repeated();
  /// Refuses an empty path: "--run: must be a path, but is empty".
  Option& not_empty();
  /// Refuses all values but these.
  Option& one_of(const std::vector<std::string>& choices);
  /// Refuses numbers outside [least, most].
  Option& between(int least, int most);
  /// The two options cannot be given together.
  Option& excludes(const Option& other);

 private:
  friend class Command;
  CLI::Option* option_;
};

/// A command: `evenkeel`, a verb, or the subcommand of a verb. A copy refers to the same command.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  /// Adds a subcommand; the help lists it with `help`.
  Command add_subcommand(const std::string& name, const std::string& help) const;
  /// One of its subcommands must be given.
  void require_subcommand() const;
  /// One of its subcommands may be given.
  void allow_subcommand() const;

  /// Adds an option with a value.
  /// \param name    "--run"; without dashes a positional argument
  /// \param target  gets the value; lives until the command line is parsed. T: string, number,
  /// path, an
  ///                optional or a vector of one (the list is in command.cpp)
  template <typename T>
  Option add_option(const std::string& name, T& target, const std::string& help) const;
  /// Adds an option without a value, which sets `target` to true.
  Option add_flag(const std::string& name, bool& target, const std::string& help) const;
  /// The option of this name, which must exist.
  Option option(const std::string& name) const;
  /// Removes an option that a shared function added.
  void remove_option(const std::string& name) const;
  /// The command and the option cannot be given together.
  void excludes(const Option& option) const;
  /// Text at the end of the help: examples.
  void footer(const std::string& content) const;

  /// The name of the verb or subcommand.
  std::string name() const;
  /// Whether the command line has this command.
  bool parsed() const;
  /// The name of the first own option that the command line has; none without one.
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
  /// \return the exit code if --help or --version was given, and printed; none to go on
  /// \throws Error (usage)
  std::optional<int> parse(int argc, char** argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace evenkeel::cli
