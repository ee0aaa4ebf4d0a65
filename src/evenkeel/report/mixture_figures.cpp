// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/mixture_figures.h"

#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/section.h"

namespace evenkeel::report {

namespace {

std::string curve(const Run& run, const Quantity& quantity, int colour) {
  Chart chart{quantity.title, quantity.unit, "", {{"", run.*quantity.values, colour}}};
  return figure(chart);
}

}  // namespace

std::string mixture_figures(const Run& run) {
  if (run.expert_load.values.empty()) return "";
  return heat_map(run.expert_load, "Load of the experts",
                  "block by expert: choices over the mean, at the last logged step", "expert") +
         curve(run, kLoad, 0) + curve(run, kBalance, 1) +
         curve(run,
               {"Dead experts", "share that no token chose, mean over blocks", "dead_experts",
                &Run::dead_experts},
               3) +
         curve(run,
               {"Entropy of the routing", "nats, mean over tokens and blocks", "routing_entropy",
                &Run::routing_entropy},
               2);
}

}  // namespace evenkeel::report
