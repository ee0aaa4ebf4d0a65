// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::convert {

/// The scheme with the step's numbers in place of t and T in its expressions: what it computes at
/// that step, at any step. Unchanged if no expression has them.
config::SchemeSource scheme_at_step(const config::SchemeSource& scheme, const norm::Steps& steps);

}  // namespace evenkeel::convert
