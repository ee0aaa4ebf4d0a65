// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/print.h"
#include "evenkeel/cli/manual_page.h"
#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kManExamples = R"(Examples:
  evenkeel man > evenkeel.1 && man ./evenkeel.1)";

}  // namespace

/// `man` prints the manual page. Exit code: 0.
Verb add_man(const Command& program) {
  const auto command = program.add_subcommand("man", verb_summary("man"));
  command.hide();
  command.footer(kManExamples);
  return {command, [program] {
            print_bytes(manual_page(program.info()));
            return Exit::success;
          }};
}

}  // namespace evenkeel::cli
