// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/completion.h"
#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  source <(evenkeel completion bash)            in ~/.bashrc
  source <(evenkeel completion zsh)             in ~/.zshrc, after compinit
  evenkeel completion fish | source             in ~/.config/fish/config.fish)";

}  // namespace

/// `completion` prints the completion of this program for a shell. Exit code: 0.
Verb add_completion(const Command& program) {
  const auto shell = std::make_shared<std::string>();
  const auto command = program.add_subcommand("completion", verb_summary("completion"));
  command.hide();
  command.add_option("shell", *shell, "the shell")
      .type_name("SHELL")
      .one_of({"bash", "zsh", "fish"})
      .required();
  command.footer(kCompletionExamples);
  return {command, [program, shell] {
            const auto commands = completed_commands(program.info());
            const auto script = *shell == "bash"  ? bash_completion(commands)
                                : *shell == "zsh" ? zsh_completion(commands)
                                                  : fish_completion(commands);
            print_bytes(script);
            return Exit::success;
          }};
}

}  // namespace evenkeel::cli
