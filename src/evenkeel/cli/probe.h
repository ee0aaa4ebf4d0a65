// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

/// What the verb `probe` can do besides measuring a model: a subcommand each.
Verb add_probe_theory(const Command& probe);
Verb add_probe_invariance(const Command& probe);

}  // namespace evenkeel::cli
