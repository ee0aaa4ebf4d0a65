// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A warning about a scheme that is valid but probably not intended.
struct Warning {
  std::string code;         // "bare_value_path", ...
  std::string explanation;  // one sentence: the risk and the remedy
};

/// Checks the rules of docs/schemes.md that concern the whole scheme: settings without effect,
/// places, values, parameter counts.
/// \return all warnings in alphabetical order of their codes, expected ones included
/// \throws SchemeError with the code and place of the first broken rule
std::vector<Warning> validate(const Scheme& scheme);

/// The number of parameters of all norms: gains, biases, and the parameters of single kinds.
std::int64_t norm_parameter_count(const Scheme& scheme);

}  // namespace evenkeel::norm
