// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A tensor whose entries all have one initial value.
struct InitialValue {
  std::string name;  // "final_norm.gain", "blocks.0.attention.branch_scale", ...
  double value = 0;  // of each entry, as stored
};

/// The stored initial values of all norm parameters, norm buffers and learned numbers. The TOML key
/// `init` states the effective value. gain_form = "1+w", stored_at and `through` make the stored
/// value differ from it.
/// \throws SchemeError bad_value for a value outside the range of `through` or of float32
std::vector<InitialValue> initial_values(const Scheme& scheme, const Steps& steps);

}  // namespace evenkeel::norm
