// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Norms whose statistics run over tokens: the output of a token then depends on other tokens,
/// later ones included (the scheme is not causal).
namespace evenkeel::norm {

/// One sentence for each such kind, with its places; empty for a scheme that is causal in training
/// and in evaluation.
std::vector<std::string> leaks_of(const Scheme& scheme);

/// Whether, in evaluation, no token depends on a later one. A key-value cache needs this.
bool causal_in_evaluation(const Scheme& scheme);

}  // namespace evenkeel::norm
