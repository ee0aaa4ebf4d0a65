// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/mixture_figures.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

/// The chart of one quantity over the steps.
std::string mixture_figures_curve(const Run& run, const Quantity& quantity, int colour) {
  Chart chart{quantity.title, quantity.unit, "", {{"", run.*quantity.values, colour}}};
  return figure(chart);
}

/// The load as a heat map. With more experts than columns, neighbouring experts share a column,
/// which shows the largest load.
std::string load_figure(const LayerMap& load) {
  const auto experts = load.values.size();
  const auto together = (experts + kHeatMapColumns - 1) / kHeatMapColumns;
  std::string unit = "block by expert: choices over the mean, at the last logged step";
  if (together == 1) return heat_map(load, "Load of the experts", unit, "expert");
  LayerMap shown = load;
  shown.values.clear();
  for (const auto& [expert, values] : load.values) {
    const auto group = (static_cast<std::size_t>(expert) - 1) / together;
    auto& column = shown.values[static_cast<double>(group * together + 1)];
    if (column.empty()) column = values;
    for (std::size_t i = 0; i < values.size(); ++i) column[i] = std::max(column[i], values[i]);
  }
  unit += text("; the busiest of each ", together);
  return heat_map(shown, "Load of the experts", unit, "experts from");
}

}  // namespace

std::string mixture_figures(const Run& run) {
  if (run.expert_load.values.empty()) return "";
  return load_figure(run.expert_load) + mixture_figures_curve(run, kLoad, 0) +
         mixture_figures_curve(run, kBalance, 1) +
         mixture_figures_curve(run,
                               {"Dead experts", "share that no token chose, mean over blocks",
                                "dead_experts", &Run::dead_experts},
                               3) +
         mixture_figures_curve(run,
                               {"Entropy of the routing", "nats, mean over tokens and blocks",
                                "routing_entropy", &Run::routing_entropy},
                               2);
}

}  // namespace evenkeel::report
