// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/completion.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/study/definition/catalogue.h"

namespace evenkeel::cli {

namespace {

using Kind = ValueWords::Kind;

bool has_name(const OptionInfo& option, std::string_view name) {
  return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
}

/// All keys of a configuration. \param suffix  "=" for KEY=VALUE
std::vector<std::string> key_words(const std::string& suffix) {
  auto out = config::key_names();
  for (auto& name : out) name += suffix;
  return out;
}

/// The completion of an option's value, by the name that the help has for it.
ValueWords value_words(const OptionInfo& option) {
  const auto& value = option.value;
  if (!option.choices.empty()) return {Kind::words, option.choices};
  if (has_name(option, "--preset")) return {Kind::words, config::presets()};
  if (value == "KEY=VALUE") return {Kind::words, key_words("=")};
  if (value == "KEY") return {Kind::words, key_words("")};
  if (has_name(option, "study")) return {Kind::files, study::catalogue()};
  if (value.starts_with("NAME|FILE")) return {Kind::files, config::catalogue()};
  if (value == "RUN" || has_name(option, "--run")) return {Kind::runs, {}};
  const bool is_file = value.find("FILE") != std::string::npos || value == "FOLDER" ||
                       value == "PROGRAM" || value == "TOKENIZER" || has_name(option, "input");
  return {is_file ? Kind::files : Kind::none, {}};
}

void add_completed(const CommandInfo& command, const std::string& path,
                   std::vector<CompletedCommand>& out) {
  CompletedCommand completed{.path = path};
  for (const auto& option : command.options) {
    completed.options.push_back({option, value_words(option)});
    const auto& value = completed.options.back().value;
    if (option.is_positional && completed.positional.kind == Kind::none) {
      completed.positional = value;
    }
  }
  for (const auto& sub : command.subcommands) {
    if (!sub.is_hidden) completed.subcommands.push_back(sub);
  }
  out.push_back(completed);
  for (const auto& sub : command.subcommands) {
    add_completed(sub, path.empty() ? sub.name : path + " " + sub.name, out);
  }
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CommandInfo& program) {
  std::vector<CompletedCommand> out;
  add_completed(program, "", out);
  return out;
}

std::vector<ValueGroup> value_groups(const std::vector<CompletedCommand>& commands) {
  std::vector<ValueGroup> out;
  for (const auto& command : commands) {
    for (const auto& [info, value] : command.options) {
      if (info.is_positional || info.value.empty()) continue;
      const auto is_alike = [&](const ValueGroup& group) { return group.value == value; };
      auto at = std::find_if(out.begin(), out.end(), is_alike);
      if (at == out.end()) at = out.insert(out.end(), {value, {}});
      for (const auto& name : info.names) at->options.push_back(command.path + " " + name);
    }
  }
  return out;
}

std::string joined_words(const std::vector<std::string>& words, std::string_view separator,
                         std::string_view quote) {
  std::string out;
  for (const auto& word : words) {
    out += text(&word == &words.front() ? "" : separator, quote, word, quote);
  }
  return out;
}

std::vector<std::string> subcommand_names(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> out;
  out.reserve(commands.size());
  for (const auto& command : commands) out.push_back(command.name);
  return out;
}

}  // namespace evenkeel::cli
