// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

Verb add_plan(CLI::App& program) {
  auto* const app = program.add_subcommand("plan", "");
  return {app, [] { return Exit::done; }};
}

}  // namespace evenkeel::cli
