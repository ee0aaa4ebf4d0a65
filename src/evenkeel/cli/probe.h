// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

/// What the verb `probe` can do besides measuring a model: a subcommand each.
Verb add_probe_theory(CLI::App& probe);
Verb add_probe_invariance(CLI::App& probe);

}  // namespace evenkeel::cli
