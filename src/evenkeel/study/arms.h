// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/study/definition.h"

namespace evenkeel::study {

/// One combination of the axes of a study.
struct Combination {
  std::string name;                           // "hybrid_norm, layers 16"
  std::map<std::string, std::string> labels;  // axis -> label
  std::vector<std::string> sets;              // what it sets
};

/// All combinations; the first axis changes slowest.
std::vector<Combination> combinations(const Study& study);

/// Whether a combination is one of the selection.
bool is_in(const std::map<std::string, std::string>& labels, const Selection& selection);

/// The labels on the axes that are not named: what two arms of a pair share, and how it is called:
/// "layers 16".
Selection rest_of(const std::map<std::string, std::string>& labels, const Selection& named);
std::string name_of(const Study& study, const std::map<std::string, std::string>& labels);

/// The configuration of one run. \param more  settings above all others
/// \throws Error (usage), SchemeError, with the arm's name before it
config::Config config_of(const Study& study, const Combination& combination, std::int64_t seed,
                         const std::vector<std::string>& more);

}  // namespace evenkeel::study
