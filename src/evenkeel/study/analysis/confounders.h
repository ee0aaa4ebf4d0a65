// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Confounders: properties in which compared arms differ although no axis between them varies just
/// these.
///   "initialisation: normal (Pre-Norm); megatron (HybridNorm, HybridNorm*)"
std::vector<std::string> confounders(const Results& results);

}  // namespace evenkeel::study
