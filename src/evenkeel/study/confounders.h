// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/study/results.h"

namespace evenkeel::study {

/// What is not the same in arms that are compared, though no axis between them is about just that:
/// such a comparison is one of two things at once.
///   "initialisation: normal (Pre-Norm); megatron (HybridNorm, HybridNorm*)"
std::vector<std::string> confounders(const Results& results);

}  // namespace evenkeel::study
