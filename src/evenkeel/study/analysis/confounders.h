// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Covariates that differ between compared arms although no axis varies exactly that covariate:
/// tokens, non-norm parameters, initialization, precision. The arms of each verdict are compared.
/// Arms with equal values form one group.
std::vector<Confounder> confounders(const Results& results);

}  // namespace evenkeel::study
