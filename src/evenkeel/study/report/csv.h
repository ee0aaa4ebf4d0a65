// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// A row a run: arm, its label on every axis, seed, state, why, the study's measure, last training
/// and validation loss, parameters, tokens, folder in the run cache. What is not there is empty. No
/// times: equal results give equal bytes.
/// \source RFC 4180, but for lines that end in LF
std::string runs_csv(const Results& results);

/// A row a trial of the search: arm, value, share of the steps, state, validation loss, whether it
/// was chosen, folder in the run cache; "" without a search.
std::string searches_csv(const Results& results);

}  // namespace evenkeel::study
