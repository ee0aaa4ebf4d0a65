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

/// One option that was added to a command. A copy means the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// What the help shows as its value, "FILE".
  Option& type_name(const std::string& name);
  Option& show_default();
  Option& required();
  /// May be given several times, with one value each or more.
  Option& repeated();
  /// Refuses an empty path: "--run: must be a path, but is empty".
  Option& not_empty();
  Option& one_of(const std::vector<std::string>& choices);
  Option& between(int least, int most);
  Option& excludes(const Option& other);

 private:
  friend class Command;
  CLI::Option* option_;
};

/// A command: `evenkeel`, or a verb, or what stands behind a verb. A copy means the same command.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_subcommand(const std::string& name, const std::string& help) const;
  /// One of its subcommands must be given.
  void require_subcommand() const;
  /// One of its subcommands may be given.
  void allow_subcommand() const;

  /// \param target  gets the value; lives until the command line is read. T: text, number, path, an
  ///                optional or a vector of one (the list is in command.cpp)
  template <typename T>
  Option add_option(const std::string& name, T& target, const std::string& help) const;
  Option add_flag(const std::string& name, bool& target, const std::string& help) const;
  Option option(const std::string& name) const;
  void remove_option(const std::string& name) const;
  /// The command and the option can't be given together.
  void excludes(const Option& option) const;
  /// What the help ends with.
  void footer(const std::string& content) const;

  std::string name() const;
  /// Whether it was given.
  bool parsed() const;
  /// The first of its own options that was given.
  std::optional<std::string> first_given() const;

 private:
  CLI::App* app_;
};

/// The whole command line.
class Program {
 public:
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();

  Command command() const { return Command(app_.get()); }

  /// Reads it. \return the exit code if help or version was asked for, and printed
  /// \throws Error (usage)
  std::optional<int> parse(int argc, char** argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace evenkeel::cli
