// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Norms whose statistics run over tokens: a token then sees others, later ones included.
namespace evenkeel::norm {

/// A sentence for each such kind that names the places where it stands; none for a scheme that is
/// causal in training and in evaluation.
std::vector<std::string> leaks_of(const Scheme& scheme);

/// Whether, in evaluation, no token sees a later one: only then may keys and values be cached from
/// one token to the next.
bool causal_in_evaluation(const Scheme& scheme);

}  // namespace evenkeel::norm
