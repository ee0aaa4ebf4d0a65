// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/job_scheduler.h"

namespace evenkeel::study {

/// The configuration of a trial: the schedule of the full run compressed into a fraction of its
/// steps. The warm-up has the length of the full run (at most half of the steps), because stability
/// depends on it. Evaluated at its end only.
/// \param steps  of the full run
/// \param share  fraction of the steps
config::Config shortened(config::Config config, std::int64_t steps, double share);

/// Callbacks of a search: create jobs, shorten configurations, run jobs, read losses.
struct SearchCallbacks {
  std::function<Job(const std::string& name, config::Config config)> job;
  std::function<config::Config(config::Config config, double share)> shortened;
  std::function<std::map<std::string, JobResult>(const std::vector<Job>& jobs)> run;  // by key
  std::function<double(const std::string& key)>
      loss;  // validation loss of a run in the cache; NaN: failed
};

/// The cost of the search per arm, without further values.
struct SearchCost {
  std::size_t runs = 0;
  double full_runs = 0;  // sum of their fractions of the steps
};
SearchCost search_cost(const SearchConfig& tune);

/// The number of candidates that are promoted to the next rung: half of them, at least two.
std::size_t promoted_count(std::size_t candidates);

/// The promoted values, best first; failed values last. A trial that is the same run as a promoted
/// one is promoted, too: it has the same loss, and their order in the file must not decide.
std::vector<std::string> promoted_values(std::vector<SearchResult::Trial> trials);

/// The first trial that crashed; nullptr if none did.
const SearchResult::Trial* find_crashed_trial(const SearchResult& searched);

/// Successive halving, per arm: the first rung tries all values with a fraction of the steps, each
/// further rung the better half, and the best value of the last rung is chosen. While that is at an
/// end of its range, at most SearchConfig::extend further values are tried there, each with the
/// share of the last rung. The seed of the search is not in the grid, so no run of the study
/// selects its own learning rate.
/// \return one result per arm; empty if a job was not run
/// \source Jamieson and Talwalkar 2016
std::vector<SearchResult> successive_halving(const Study& study, const std::vector<GridPoint>& arms,
                                             const SearchCallbacks& search);

}  // namespace evenkeel::study
