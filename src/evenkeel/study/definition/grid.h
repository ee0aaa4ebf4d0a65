// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// One combination of the axes of a study.
struct GridPoint {
  std::string name;                           // "hybrid_norm, layers 16"
  std::map<std::string, std::string> labels;  // axis -> label
  std::vector<std::string> settings;          // settings of all its labels
};

/// All combinations; the first axis changes slowest.
std::vector<GridPoint> grid_points(const Study& study);

/// True if a combination is in the selection.
bool matches(const std::map<std::string, std::string>& labels, const Selection& selection);

/// The labels on the axes that `named` does not contain, which the arms of a pair share.
/// labels_text() writes them as "layers 16".
Selection remaining_labels(const std::map<std::string, std::string>& labels,
                           const Selection& named);
/// The labels with those of `named` in the place of their own.
Selection replaced_labels(std::map<std::string, std::string> labels, const Selection& named);
std::string labels_text(const Study& study, const std::map<std::string, std::string>& labels);

/// The point with another value of a key.
GridPoint with_value(const Study& study, GridPoint point, const std::string& key,
                     const std::string& value);

/// The configuration of one run.
/// \param overrides  settings with the highest precedence
/// \throws Error (usage), SchemeError; the message begins with the name of the arm
config::Config config_of(const Study& study, const GridPoint& point, std::int64_t seed,
                         const std::vector<std::string>& overrides);

/// Why config_of() refuses a point; "" if it does not.
std::string refusal_of(const Study& study, const GridPoint& point);
inline bool is_accepted(const Study& study, const GridPoint& point) {
  return refusal_of(study, point).empty();
}

}  // namespace evenkeel::study
