// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The covariates in which compared arms differ although no axis varies just that covariate:
/// tokens, parameters without those of norms, initialisation, precision. Compared are the arms of
/// each verdict; arms that share a value form one group.
std::vector<Confounder> confounders(const Results& results);

}  // namespace evenkeel::study
