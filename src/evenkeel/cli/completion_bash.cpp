// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/error.h"
#include "evenkeel/cli/completion.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBashHead =
    R"bash(# Completion of evenkeel for bash: source <(evenkeel completion bash)

# Offers the words that begin with what is typed.
_evenkeel_words() {
  local IFS=$' \t\n'
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$typed")
  [[ "${COMPREPLY[*]}" != *= ]] || compopt -o nospace 2>/dev/null
}

# Offers words, and lets readline complete files where there are none.
_evenkeel_files() {
  local IFS=$' \t\n'
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$typed"; compgen -f -- "$typed")
  compopt -o filenames 2>/dev/null
}

# Offers run folders, whose names no shell evaluates: readline quotes what it inserts.
_evenkeel_run_folders() {
  local file folder
  mapfile -t COMPREPLY < <(compgen -d -- "$typed")
  for file in runs/*/run.toml runs/*/*/run.toml runs/*/*/*/run.toml; do
    folder=${file%/run.toml}
    [[ ! -e $file || $folder != "$typed"* ]] || COMPREPLY+=("$folder")
  done
  compopt -o filenames 2>/dev/null
}

_evenkeel() {
  local typed=$2 previous=$3 verb='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${COMP_WORDS[i]}" in
)bash";

/// The function that offers values. \param none  what to do without any
std::string bash_offer(const ValueWords& value, const char* none) {
  const auto words = joined_words(value.words, " ");
  switch (value.kind) {
    case ValueWords::Kind::words:
      return text("_evenkeel_words '", words, "'");
    case ValueWords::Kind::files:
      return text("_evenkeel_files '", words, "'");
    case ValueWords::Kind::runs:
      return "_evenkeel_run_folders";
    case ValueWords::Kind::none:
      break;
  }
  return none;
}

/// The arm of a command: its options, or its subcommands and positional arguments.
std::string bash_arm(const CompletedCommand& command) {
  std::vector<std::string> options;
  for (const auto& [info, value] : command.options) {
    if (!info.is_positional) options.insert(options.end(), info.names.begin(), info.names.end());
  }
  const auto names = subcommand_names(command.subcommands);
  const auto other = names.empty() ? bash_offer(command.positional, ":")
                                   : text("_evenkeel_words '", joined_words(names, " "), "'");
  return text("    '", command.path.empty() ? "" : " ", command.path, "')\n",
              "      case $typed in\n", "        -*) _evenkeel_words '", joined_words(options, " "),
              "' ;;\n", "        *) ", other, " ;;\n      esac\n      ;;\n");
}

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string out = kBashHead;
  std::vector<std::string> paths;
  for (const auto& command : commands) {
    if (!command.path.empty()) paths.push_back(" " + command.path);
  }
  out += text("      ", joined_words(paths, " | ", "'"), ") verb=\"$verb ${COMP_WORDS[i]}\" ;;\n",
              "    esac\n  done\n",
              "  [[ $typed != = && $previous != = ]] || { typed=${typed#=}; _evenkeel_files ''; "
              "return; }\n",
              "  case \"$verb $previous\" in\n");
  for (const auto& group : value_groups(commands)) {
    std::vector<std::string> patterns;
    patterns.reserve(group.options.size());
    for (const auto& option : group.options) {
      patterns.push_back(option.starts_with(' ') ? option : " " + option);
    }
    out += text("    ", joined_words(patterns, " | ", "'"), ") ", bash_offer(group.value, ":"),
                "; return ;;\n");
  }
  out += "  esac\n  case $verb in\n";
  for (const auto& command : commands) out += bash_arm(command);
  return out + "  esac\n}\n\ncomplete -F _evenkeel evenkeel ek ./ek\n";
}

}  // namespace evenkeel::cli
