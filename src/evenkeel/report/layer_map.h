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
  std::map<double, std::vector<double>> values;  // by step; NaN where nothing was measured

  /// The values of a step over layers; empty if it was not probed.
  Series at(double step) const;
};

/// The records of probes.jsonl by measure; of a step that was probed twice the last values.
std::vector<LayerMap> layer_maps(const std::vector<nlohmann::json>& records);

/// The map of a measure and part, measured on "training" or "validation" text; nullptr if there is
/// none.
const LayerMap* find(const std::vector<LayerMap>& maps, const std::string& measure,
                     const std::string& part, const std::string& on = "training");

/// How the values of a profile change with depth: figure 2 of the HybridNorm paper in two numbers.
struct DepthTrend {
  double slope = 0;   // of ln value against the layer, least squares
  double spread = 0;  // largest over smallest
};
/// The trend of a profile (x: layer); NaN if a value is not above 0 or there are fewer than two.
DepthTrend depth_trend(const Series& profile);

}  // namespace evenkeel::report
