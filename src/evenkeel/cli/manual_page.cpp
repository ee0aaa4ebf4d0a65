// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/manual_page.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/version.h"

namespace evenkeel::cli {

namespace {

/// A text whose characters roff prints as they are.
std::string roff(const std::string& content) {
  std::string out;
  for (const char each : content) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (each == '.' || each == '\'')) out += "\\&";
    if (each == '\\') {
      out += "\\e";
    } else if (each == '-') {
      out += "\\-";
    } else {
      out += each;
    }
  }
  return out;
}

/// "--preset NAME", "[FOLDER]"
std::string roff_option(const OptionInfo& option) {
  std::string names;
  for (const auto& name : option.names) names += text(names.empty() ? "" : ", ", name);
  auto out = text("\\fB", roff(names), "\\fR");
  if (!option.value.empty() && !option.is_positional)
    out += text(" \\fI", roff(option.value), "\\fR");
  return out;
}

/// The help of an option, with its choices.
std::string roff_help(const OptionInfo& option) {
  std::string out = option.help;
  std::string choices;
  for (const auto& choice : option.choices) choices += text(choices.empty() ? "" : ", ", choice);
  if (!choices.empty()) out += "; one of " + choices;
  if (option.is_repeated && !option.is_positional) out += " (several values, or several times)";
  return roff(out);
}

/// The section of a command and those of its subcommands.
std::string roff_section(const CommandInfo& command, const std::string& path) {
  auto out = text(".SS ", roff(path), "\n", roff(command.help), ".\n");
  for (const auto& option : command.options) {
    out += text(".TP\n", roff_option(option), "\n", roff_help(option), "\n");
  }
  if (!command.footer.empty()) out += text(".PP\n.nf\n", roff(command.footer), "\n.fi\n");
  for (const auto& sub : command.subcommands) out += roff_section(sub, path + " " + sub.name);
  return out;
}

}  // namespace

std::string manual_page(const CommandInfo& program) {
  auto out = text(".TH EVENKEEL 1 \"\" \"evenkeel ", kVersion, "\" \"User Commands\"\n",
                  ".SH NAME\nevenkeel \\- trains decoder transformers and measures normalization\n",
                  ".SH SYNOPSIS\n.B evenkeel\n.I VERB\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n",
                  roff(program.help), "\n.SH OPTIONS\n");
  for (const auto& option : program.options) {
    out += text(".TP\n", roff_option(option), "\n", roff_help(option), "\n");
  }
  out += ".SH COMMANDS\n";
  for (const auto& command : program.subcommands) {
    out += roff_section(command, "evenkeel " + command.name);
  }
  return out + text(".SH EXAMPLES\n.nf\n", roff(program.footer), "\n.fi\n");
}

}  // namespace evenkeel::cli
