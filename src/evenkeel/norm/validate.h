// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A warning about a scheme that has a meaning but rarely a good one.
struct Warning {
  std::string code;         // "bare_value_path", ...
  std::string explanation;  // one sentence: what may happen, what to do
};

/// The rules of docs/schemes.md that reading alone cannot check.
/// \return the warnings, in the order of their codes; those that the scheme expects are included
/// \throws SchemeError with the code of the broken rule and the place
std::vector<Warning> validate(const Scheme& scheme);

/// Parameters of all norms together: gains, biases and other parts, by the scheme's structure.
std::int64_t norm_parameter_count(const Scheme& scheme);

}  // namespace evenkeel::norm
