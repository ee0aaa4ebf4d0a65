// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/job_scheduler.h"

namespace evenkeel::study {

/// One run of a search: the whole recipe in a share of its steps, behind the warm-up of the whole
/// run (half of the steps at most), since what trains depends on it; evaluated at its end only.
/// \param steps  of the whole run
config::Config shortened(config::Config config, std::int64_t steps, double share);

/// What a search calls: makes jobs, shortens configurations, reads losses.
struct SearchCallbacks {
  std::function<Job(const std::string& name, config::Config config)> job;
  std::function<config::Config(config::Config config, double share)> shortened;
  std::function<double(const std::string& key)>
      loss;  // of a run of the run cache; NaN if it failed
};

/// What the search costs an arm.
struct SearchCost {
  std::size_t runs = 0;
  double full_runs = 0;  // to which their steps add up
};
SearchCost search_cost(const SearchConfig& tune);

/// How many of so many values are tried at the next share of the steps: half of them, two at least.
std::size_t promoted_count(std::size_t candidates);

/// Those values, best first; what failed comes last.
std::vector<std::string> promoted_values(std::vector<SearchResult::Trial> trials);

/// Successive halving: every arm tries all values at the first share of the steps, the better half
/// of them at the next, and so on; the best of the last share is its value. The search has a seed
/// of its own, so that no run of the study has chosen its own rate.
/// \return empty if it was stopped
/// \source Jamieson and Talwalkar 2016
std::vector<SearchResult> successive_halving(const Study& study, const std::vector<GridPoint>& arms,
                                             const SearchCallbacks& search,
                                             JobScheduler& scheduler);

}  // namespace evenkeel::study
