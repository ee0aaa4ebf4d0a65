// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <type_traits>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"

namespace evenkeel::cli {

namespace {

/// Leaves out which options exclude each other, which takes lines: the message about two of them
/// says it.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    auto words = CLI::Formatter::make_option_opts(option);
    words.resize(std::min(words.size(), words.find(" Excludes:")));
    return words;
  }
};

}  // namespace

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::repeated() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::not_empty() {
  option_->check(CLI::Validator(
      [](const std::string& path) { return path.empty() ? "must be a path, but is empty" : ""; },
      ""));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& choices) {
  option_->check(CLI::IsMember(choices));
  return *this;
}

Option& Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

void Command::require_subcommand() const {
  app_->require_subcommand(1);
}

void Command::allow_subcommand() const {
  app_->require_subcommand(0, 1);
}

namespace {

/// The error message for a word that is no decimal integer of this type; "" if it is one. CLI11
/// alone truncates integers that are too large and reads 010 as eight.
template <typename Integer>
std::string integer_error(const std::string& word) {
  Integer value = 0;
  const auto* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, value);
  const bool has_zeros = word.size() > 1 && word.find_first_not_of('-') == word.find('0') &&
                         word.find_first_of("123456789") != std::string::npos;
  if (read.ec == std::errc() && read.ptr == end && !has_zeros) return "";
  return text("must be a whole number of at most ", std::numeric_limits<Integer>::max(),
              ", but is ", word);
}

/// The command that a command line names.
struct GivenCommand {
  const CLI::App* command;
  std::string name;  // "schemes show"; "" for the program alone
  std::string help() const {
    return text("see `evenkeel ", name, name.empty() ? "" : " ", "--help`");
  }
};

GivenCommand given_command(const CLI::App& program) {
  GivenCommand out{.command = &program, .name = {}};
  while (!out.command->get_subcommands().empty()) {
    out.command = out.command->get_subcommands().front();
    out.name += (out.name.empty() ? "" : " ") + out.command->get_name();
  }
  return out;
}

/// True if `word` may be a typing mistake for the option, or its beginning. The dashes, which all
/// options have, do not make two words near, and short words need a common first letter.
bool is_near(const std::string& word, const std::string& option) {
  const auto bare = [](const std::string& name) {
    return name.substr(std::min(name.size(), name.find_first_not_of('-')));
  };
  const auto ours = bare(word), theirs = bare(option);
  if (theirs.starts_with(ours)) return true;
  return ours.substr(0, 1) == theirs.substr(0, 1) && !nearest(ours, {theirs}).empty();
}

/// The message about the first argument that no option takes: a near option, or --set for a
/// word such as data.train=book.txt.
std::string unexpected_arguments(const CLI::App& program) {
  const auto given = given_command(program);
  const auto extras = program.remaining(/*recurse=*/true);
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto found = std::find_if(extras.begin(), extras.end(), is_option);
  const auto word = found == extras.end() ? extras.front() : *found;
  const auto help = given.help();
  if (!is_option(word)) {
    const bool is_setting = word.find('=') != std::string::npos;
    return text(given.name, ": unexpected argument \"", word, "\"; ",
                is_setting ? text("did you mean --set ", word, "? ") : "", help);
  }
  const auto unknown = word.substr(0, word.find('='));
  std::vector<std::string> options;
  for (const auto* const option : given.command->get_options()) {
    const auto name = option->get_name();
    if (is_option(name) && is_near(unknown, name)) options.push_back(name);
  }
  return text(given.name, " has no option ", unknown, did_you_mean(unknown, options, help));
}

}  // namespace

template <typename T>
Option Command::add_option(const std::string& name, T& target, const std::string& help) const {
  auto* const option = app_->add_option(name, target, help);
  if constexpr (std::is_integral_v<T>) {
    option->check(CLI::Validator(integer_error<T>, ""));
  }
  return Option(option);
}

#define EK_OPTION(T) \
  template Option Command::add_option(const std::string&, T&, const std::string&) const
EK_OPTION(int);
EK_OPTION(std::int64_t);
EK_OPTION(std::uint64_t);
EK_OPTION(double);
EK_OPTION(std::optional<double>);
EK_OPTION(std::optional<std::int64_t>);
EK_OPTION(std::string);
EK_OPTION(std::optional<std::string>);
EK_OPTION(std::vector<std::string>);
EK_OPTION(std::filesystem::path);
EK_OPTION(std::optional<std::filesystem::path>);
EK_OPTION(std::vector<std::filesystem::path>);
#undef EK_OPTION

Option Command::add_flag(const std::string& name, bool& target, const std::string& help) const {
  return Option(app_->add_flag(name, target, help));
}

Option Command::option(const std::string& name) const {
  return Option(app_->get_option(name));
}

void Command::remove_option(const std::string& name) const {
  app_->remove_option(app_->get_option(name));
}

void Command::excludes(const Option& option) const {
  app_->excludes(option.option_);
}

void Command::footer(const std::string& content) const {
  app_->footer(content);
}

void Command::hide() const {
  app_->group("");
}

namespace {

/// The words of a validator CLI::IsMember, from its description "{loss,age,name}".
std::vector<std::string> choices_in(const std::string& description) {
  const auto begin = description.find('{'), end = description.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(description.substr(begin + 1, end - begin - 1), ',');
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo out;
  out.is_positional = option.get_positional();
  for (const auto& name : option.get_snames()) out.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.is_positional) out.names = {option.get_name(/*positional=*/true)};
  const bool takes_value = out.is_positional || option.get_items_expected_max() > 0;
  const auto type = option.get_type_name();  // "ORDER:{loss,age,name}", "TEXT:INT in [1 - 9]"
  if (takes_value) out.value = type.substr(0, type.find(':'));
  if (takes_value) out.choices = choices_in(type);
  out.help = option.get_description();
  out.is_repeated = option.get_items_expected_max() > 1 ||
                    option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return out;
}

CommandInfo info_of(const CLI::App& app) {
  CommandInfo out = {.name = app.get_name(),
                     .help = app.get_description(),
                     .footer = app.get_footer(),
                     .is_hidden = app.get_group().empty()};
  for (const auto* const option : app.get_options()) out.options.push_back(info_of(*option));
  std::stable_partition(out.options.begin(), out.options.end(),
                        [](const OptionInfo& option) { return option.is_positional; });
  for (const auto* const sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    out.subcommands.push_back(info_of(*sub));
  }
  return out;
}

}  // namespace

CommandInfo Command::info() const {
  return info_of(*app_);
}

std::string Command::name() const {
  return app_->get_name();
}

bool Command::parsed() const {
  return app_->parsed();
}

std::optional<std::string> Command::first_given() const {
  for (const auto* const option : app_->get_options()) {
    if (option->count() > 0) return option->get_name();
  }
  return std::nullopt;
}

Program::Program(const std::string& name, const std::string& description,
                 const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->formatter(std::make_shared<HelpFormatter>());
}

Program::~Program() = default;

std::optional<int> Program::parse(int argc, char** argv) const {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app_->exit(help);
  } catch (const CLI::ExtrasError&) {
    throw Error(Exit::usage, unexpected_arguments(*app_));
  } catch (const CLI::ParseError& error) {
    throw Error(Exit::usage, text(error.what(), "; ", given_command(*app_).help()));
  }
  return std::nullopt;
}

}  // namespace evenkeel::cli
