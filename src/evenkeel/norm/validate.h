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

/// Checks the rules of docs/schemes.md that need the whole scheme: effects, places, values, counts.
/// \return the warnings in the order of their codes, expected ones included
/// \throws SchemeError with the code of the first broken rule and its place
std::vector<Warning> validate(const Scheme& scheme);

/// The number of parameters of all norms: gains, biases and those of single kinds.
std::int64_t norm_parameter_count(const Scheme& scheme);

}  // namespace evenkeel::norm
