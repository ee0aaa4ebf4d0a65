// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/completion.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kZshHead = R"(#compdef evenkeel ek
# Completion of evenkeel for zsh: source <(evenkeel completion zsh), or as a file _evenkeel in a
# folder of fpath.

_evenkeel_run_folders() {
  local -a folders
  folders=(runs/*/run.toml(N:h) runs/*/*/run.toml(N:h) runs/*/*/*/run.toml(N:h))
  (( $#folders )) && compadd -- $folders
  _files -/
}

_evenkeel() {
  local verb='' before=${words[CURRENT-1]}
  local -a commands options
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    case "$verb ${words[i]}" in
)";

/// A text in single quotes.
std::string zsh_quoted(const std::string& content) {
  std::string out = "'";
  for (const char each : content) out += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return out + "'";
}

/// An entry of _describe: name and description.
std::string zsh_entry(const std::string& name, std::string help) {
  std::replace(help.begin(), help.end(), '\n', ' ');
  return zsh_quoted(name + ":" + help);
}

std::string zsh_offer(const ValueWords& value, const char* none) {
  const auto words = joined_words(value.words, " ", "'");
  const bool has_keys = !value.words.empty() && value.words.front().ends_with('=');
  auto added = words.empty() ? "" : text("compadd ", has_keys ? "-S '' " : "", "-- ", words);
  switch (value.kind) {
    case ValueWords::Kind::words:
      return added;
    case ValueWords::Kind::files:
      return text(added, added.empty() ? "" : "; ", "_files");
    case ValueWords::Kind::runs:
      return "_evenkeel_run_folders";
    case ValueWords::Kind::none:
      break;
  }
  return none;
}

std::string zsh_arm(const CompletedCommand& command) {
  std::vector<std::string> options, subcommands;
  for (const auto& [info, value] : command.options) {
    if (info.is_positional) continue;
    for (const auto& name : info.names) options.push_back(zsh_entry(name, info.help));
  }
  for (const auto& sub : command.subcommands) subcommands.push_back(zsh_entry(sub.name, sub.help));
  const auto indent = "\n        ";
  auto out = text("    ('", command.path.empty() ? "" : " ", command.path, "')\n      options=(",
                  indent, joined_words(options, indent), ")\n");
  if (!subcommands.empty()) {
    out += text("      commands=(", indent, joined_words(subcommands, indent), ")\n");
  }
  if (subcommands.empty() && command.positional.kind != ValueWords::Kind::none) {
    out += text("      [[ ${words[CURRENT]} == -* ]] || { ", zsh_offer(command.positional, ":"),
                "; return }\n");
  }
  return out + "      ;;\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string out = kZshHead;
  std::vector<std::string> paths;
  for (const auto& command : commands) {
    if (!command.path.empty()) paths.push_back(" " + command.path);
  }
  out += text("      (", joined_words(paths, "|", "'"), ") verb=\"$verb ${words[i]}\" ;;\n",
              "    esac\n  done\n  case \"$verb $before\" in\n");
  for (const auto& group : value_groups(commands)) {
    std::vector<std::string> patterns;
    patterns.reserve(group.options.size());
    for (const auto& option : group.options) {
      patterns.push_back(option.starts_with(' ') ? option : " " + option);
    }
    out += text("    (", joined_words(patterns, "|", "'"), ") ",
                zsh_offer(group.value, "_message value"), "; return ;;\n");
  }
  out += "  esac\n  case $verb in\n";
  for (const auto& command : commands) out += zsh_arm(command);
  return out + R"(  esac
  if [[ ${words[CURRENT]} == -* ]] || (( ! $#commands )); then
    _describe -o option options
  else
    _describe command commands
  fi
}

if [[ ${funcstack[1]} == _evenkeel ]]; then
  _evenkeel "$@"
else
  compdef _evenkeel evenkeel ek
fi
)";
}

}  // namespace evenkeel::cli
