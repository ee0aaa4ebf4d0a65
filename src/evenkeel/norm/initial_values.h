// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A tensor whose values are all equal at the start of a run, and that value, as it is stored.
struct InitialValue {
  std::string name;  // "final_norm.gain", "blocks.0.attention.branch_scale", ...
  double value = 0;
};

/// The parts and states of every norm, and every learned number. What an `init` says is the value
/// as it acts: behind gain_form = "1+w", stored_at and `through` another one is stored.
/// \throws SchemeError (bad_value) for a value that `through` cannot give, or float32 cannot hold
std::vector<InitialValue> initial_values(const Scheme& scheme, const Steps& steps);

}  // namespace evenkeel::norm
