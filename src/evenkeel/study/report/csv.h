// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// CSV with one row per run: arm, label on every axis, seed, state, reason, measure of the study,
/// last training and validation loss, parameters, tokens, folder in the run cache. Missing values
/// are empty. Equal results give equal bytes, so there are no times.
/// \source RFC 4180, except that lines end in LF
std::string runs_csv(const Results& results);

/// CSV with one row per trial of the search: arm, value, fraction of the steps, state, validation
/// loss, chosen or not, folder in the run cache; "" without a search.
std::string searches_csv(const Results& results);

}  // namespace evenkeel::study
