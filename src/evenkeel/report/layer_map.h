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

/// The lines of probes.jsonl, gathered; of a step that was probed twice the last values.
std::vector<LayerMap> layer_maps(const std::vector<nlohmann::json>& records);

/// nullptr if there is none.
const LayerMap* find(const std::vector<LayerMap>& maps, const std::string& measure,
                     const std::string& part, const std::string& on = "training");

/// How the values of a profile follow the depth: the paper's figure 2 in two numbers.
struct DepthTrend {
  double slope = 0;   // of ln value against the layer, least squares
  double spread = 0;  // largest over smallest
};
/// NaN where a value is not above 0, or there are fewer than two.
DepthTrend depth_trend(const Series& profile);

}  // namespace evenkeel::report
