// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A tensor whose entries are all equal at the start of a run.
struct InitialValue {
  std::string name;  // "final_norm.gain", "blocks.0.attention.branch_scale", ...
  double value = 0;  // as stored
};

/// The stored initial values of all norm parameters, norm states and learned numbers. A key `init`
/// states the effective value; gain_form = "1+w", stored_at and `through` change the stored one.
/// \throws SchemeError bad_value for a value outside the range of `through` or of float32
std::vector<InitialValue> initial_values(const Scheme& scheme, const Steps& steps);

}  // namespace evenkeel::norm
