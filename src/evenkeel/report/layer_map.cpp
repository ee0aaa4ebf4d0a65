// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/layer_map.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/report/json_field.h"

namespace evenkeel::report {

namespace {

/// The numbers of a list; NaN for null.
std::vector<double> numbers(const nlohmann::json& list) {
  std::vector<double> out;
  for (const auto& each : list) out.push_back(number_of(each));
  return out;
}

/// Whether a record of probes.jsonl has all fields, of the right types and ranges.
bool is_whole(const nlohmann::json& record) {
  constexpr double kMostLayers = 1e6;
  const double first = number(record, "first");
  return std::isfinite(step_of(record)) && 0 <= first && first <= kMostLayers &&
         record["first"].is_number_integer() && record.contains("values") &&
         record["values"].is_array() && record.contains("measure") &&
         record["measure"].is_string() && record.contains("part") && record["part"].is_string() &&
         record.contains("on") && record["on"].is_string();
}

}  // namespace

Series LayerMap::at(double step) const {
  Series series;
  const auto found = values.find(step);
  if (found == values.end()) return series;
  auto layer = static_cast<double>(first);
  for (const auto value : found->second) series.add(layer++, value);
  return series;
}

std::vector<LayerMap> layer_maps(const std::vector<nlohmann::json>& records) {
  std::vector<LayerMap> maps;
  for (const auto& record : records) {
    if (!is_whole(record)) continue;
    const LayerMap like{record["measure"], record["part"], record["on"], record["first"], {}};
    auto found = std::find_if(maps.begin(), maps.end(), [&](const LayerMap& map) {
      return map.measure == like.measure && map.part == like.part && map.on == like.on &&
             map.first == like.first;
    });
    if (found == maps.end()) found = maps.insert(maps.end(), like);
    found->values[step_of(record)] = numbers(record["values"]);
  }
  return maps;
}

const LayerMap* find(const std::vector<LayerMap>& maps, const std::string& measure,
                     const std::string& part, const std::string& on) {
  const auto found = std::find_if(maps.begin(), maps.end(), [&](const LayerMap& map) {
    return map.measure == measure && map.part == part && map.on == on;
  });
  return found == maps.end() ? nullptr : &*found;
}

DepthTrend depth_trend(const Series& profile) {
  const auto none = std::nan("");
  if (profile.size() < 2) return {none, none};
  std::vector<double> slopes;  // of all pairs of layers
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (!(profile.y[i] > 0) || !std::isfinite(profile.y[i])) return {none, none};
    for (std::size_t j = 0; j < i; ++j) {
      slopes.push_back(std::log(profile.y[i] / profile.y[j]) / (profile.x[i] - profile.x[j]));
    }
  }
  const auto [least, most] = std::minmax_element(profile.y.begin(), profile.y.end());
  return {median(slopes), *most / *least};
}

}  // namespace evenkeel::report
