// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/completion.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kFishHead =
    R"(# Completion of evenkeel for fish: evenkeel completion fish | source

function __evenkeel_runs
    for file in runs/*/run.toml runs/*/*/run.toml runs/*/*/*/run.toml
        string replace -r '/run\.toml$' '' -- $file
    end
end

# True if the words so far are this command.
function __evenkeel_at
    set -l verb ''
    for word in (commandline -opc)[2..-1]
        if contains -- "$verb $word" $__evenkeel_commands
            set verb "$verb $word"
        end
    end
    test "$verb" = "$argv[1]"
end

)";

/// A text in single quotes.
std::string fish_quoted(const std::string& content) {
  std::string out = "'";
  for (const char each : content) {
    if (each == '\'' || each == '\\') out += '\\';
    out += each == '\n' ? ' ' : each;
  }
  return out + "'";
}

/// The arguments of `complete` for a value. -x: a value is needed, and files are not offered; -r:
/// they are
std::string fish_value(const ValueWords& value) {
  const auto words = fish_quoted(joined_words(value.words, " "));
  switch (value.kind) {
    case ValueWords::Kind::words:
      return " -x -a " + words;
    case ValueWords::Kind::files:
      return value.words.empty() ? " -r -F" : " -r -F -a " + words;
    case ValueWords::Kind::runs:
      return " -r -F -a '(__evenkeel_runs)'";
    case ValueWords::Kind::none:
      break;
  }
  return " -x";
}

/// "-l preset", "-s h"
std::string fish_names(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    const bool is_long = name.starts_with("--");
    out += text(is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  return out;
}

std::string fish_lines(const CompletedCommand& command) {
  const auto path = text(command.path.empty() ? "" : " ", command.path);
  const auto start = text("complete -c evenkeel -n ", fish_quoted("__evenkeel_at '" + path + "'"));
  std::string out;
  for (const auto& sub : command.subcommands) {
    out += text(start, " -f -a ", sub.name, " -d ", fish_quoted(sub.help), "\n");
  }
  for (const auto& [info, value] : command.options) {
    if (info.is_positional) continue;
    out += text(start, fish_names(info.names), info.value.empty() ? "" : fish_value(value), " -d ",
                fish_quoted(info.help), "\n");
  }
  if (command.positional.kind == ValueWords::Kind::none) return out + start + " -f\n";
  return out + start + fish_value(command.positional).substr(3) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> paths;
  for (const auto& command : commands) {
    if (!command.path.empty()) paths.push_back(" " + command.path);
  }
  auto out = text(kFishHead, "set -g __evenkeel_commands ", joined_words(paths, " ", "'"), "\n\n");
  for (const auto& command : commands) out += fish_lines(command);
  return out + "complete -c ek -w evenkeel\n";
}

}  // namespace evenkeel::cli
