// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Norms whose statistics are over several tokens. They leak information: the output of a token
/// depends on other tokens, future ones included, so the model is not causal.
namespace evenkeel::norm {

/// One sentence per leaking norm kind, with the places of its norms; empty if the scheme is causal
/// in training and in evaluation.
std::vector<std::string> leaks_of(const Scheme& scheme);

/// True if no token depends on a future token in evaluation. A key-value cache requires this.
bool causal_in_evaluation(const Scheme& scheme);

}  // namespace evenkeel::norm
