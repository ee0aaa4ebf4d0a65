// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/report/series.h"

namespace evenkeel::report {

/// One measure of a probe over layers and steps.
struct LayerMap {
  std::string measure, part, on;                 // as in probes.jsonl
  std::int64_t first = 1;                        // layer of the first value
  std::map<double, std::vector<double>> values;  // by step; NaN: not measured

  /// The values at a step (x: layer); empty if the step was not probed.
  Series at(double step) const;
};

/// The records of probes.jsonl, grouped by measure. A later record of the same step wins.
std::vector<LayerMap> layer_maps(const std::vector<nlohmann::json>& records);

/// The map of a measure and part, measured on "training" or "validation" text; nullptr if there is
/// none.
const LayerMap* find(const std::vector<LayerMap>& maps, const std::string& measure,
                     const std::string& part, const std::string& on = "training");

/// The change of a profile with depth: figure 2 of the HybridNorm paper (arXiv:2503.04598) in two
/// numbers.
struct DepthTrend {
  double slope = 0;   // of ln(value) per layer: the median over all pairs of layers (Theil-Sen)
  double spread = 0;  // largest / smallest value
};
/// The trend of a profile (x: layer); NaN if a value is not above 0, or for fewer than two values.
/// A single layer, such as the first, hardly moves the slope.
/// \source Sen 1968, "Estimates of the regression coefficient based on Kendall's tau"
DepthTrend depth_trend(const Series& profile);

}  // namespace evenkeel::report
