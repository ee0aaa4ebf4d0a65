// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

/// Subcommands of `probe`. They check claims of theory; `probe` itself measures a model.
Verb add_probe_theory(const Command& probe);
Verb add_probe_invariance(const Command& probe);

}  // namespace evenkeel::cli
