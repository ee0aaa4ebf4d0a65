// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/successive_halving.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::study {

namespace {

bool is_better(const SearchResult::Trial& left, const SearchResult::Trial& right) {
  return std::isfinite(left.loss) && (!std::isfinite(right.loss) || left.loss < right.loss);
}

/// The trials of one arm in one rung, and a job for each.
std::vector<SearchResult::Trial> make_trials(const Study& study, const GridPoint& arm,
                                             const std::vector<std::string>& values, double share,
                                             const SearchCallbacks& search,
                                             std::vector<Job>& jobs) {
  std::vector<SearchResult::Trial> trials;
  for (const auto& value : values) {
    const auto setting = text(study.tune->key, '=', value);
    auto config = search.shortened(config_of(study, arm, study.tune->seed, {setting}), share);
    const auto name = text(arm.name, ", search ", value, ", ", shortest(share), " of the steps");
    jobs.push_back(search.job(name, std::move(config)));
    trials.push_back({.value = value, .share = share, .key = jobs.back().key});
  }
  return trials;
}

/// True for the first or last value of the range, sorted if all values are numbers.
bool is_at_edge(const std::string& chosen, std::vector<std::string> values) {
  const bool are_numbers = std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return number_of(value).has_value();
  });
  if (are_numbers) {
    std::sort(values.begin(), values.end(), [](const std::string& left, const std::string& right) {
      return *number_of(left) < *number_of(right);
    });
  }
  return chosen == values.front() || chosen == values.back();
}

}  // namespace

config::Config shortened(config::Config config, std::int64_t steps, double share) {
  using Unit = config::Length::Unit;
  config.train.steps = std::max<std::int64_t>(1, std::llround(static_cast<double>(steps) * share));
  config.train.tokens = 0;
  auto &warmup = config.schedule.warmup, &decay = config.schedule.decay;
  if (warmup.unit == Unit::tokens) {
    warmup.amount /= static_cast<double>(config.train.batch * config.model.context);
  } else if (warmup.unit == Unit::percent) {
    constexpr double kPercent = 0.01;
    warmup.amount *= kPercent * static_cast<double>(steps);
  }
  const double half = std::floor(static_cast<double>(config.train.steps) / 2);
  warmup = {std::min(std::round(warmup.amount), half), Unit::steps};
  if (decay.unit != Unit::percent) decay.amount = std::max(1.0, std::round(decay.amount * share));
  config.evaluate.every = 0;
  config.probe.steps.clear();
  config.probe.every = 0;
  return config;
}

std::size_t promoted_count(std::size_t candidates) {
  constexpr std::size_t kLeast = 2;  // a single candidate needs no comparison
  return std::min(candidates, std::max(kLeast, (candidates + 1) / 2));
}

SearchCost search_cost(const SearchConfig& tune) {
  SearchCost cost;
  auto candidates = tune.values.size();
  for (const double share : tune.rungs) {
    cost.runs += candidates;
    cost.full_runs += share * static_cast<double>(candidates);
    candidates = promoted_count(candidates);
  }
  return cost;
}

std::vector<std::string> promoted_values(std::vector<SearchResult::Trial> trials) {
  std::stable_sort(trials.begin(), trials.end(), is_better);
  trials.resize(promoted_count(trials.size()));
  std::vector<std::string> values;
  values.reserve(trials.size());
  for (const auto& each : trials) values.push_back(each.value);
  return values;
}

std::vector<SearchResult> successive_halving(const Study& study, const std::vector<GridPoint>& arms,
                                             const SearchCallbacks& search) {
  const auto& tune = *study.tune;
  std::vector<SearchResult> out(arms.size());
  std::vector<std::vector<SearchResult::Trial>> last(arms.size());
  for (const double share : tune.rungs) {
    std::vector<Job> jobs;
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      const auto values = last[arm].empty() ? tune.values : promoted_values(last[arm]);
      last[arm] = make_trials(study, arms[arm], values, share, search, jobs);
    }
    const auto job_results = search.run(jobs);
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      for (auto& each : last[arm]) {
        const auto state = job_results.at(each.key).state;
        if (state == JobResult::State::not_run) return {};
        each.crashed = state == JobResult::State::crashed;
        each.loss = each.crashed ? std::nan("") : search.loss(each.key);
      }
      out[arm].arm = arm;
      out[arm].trials.insert(out[arm].trials.end(), last[arm].begin(), last[arm].end());
    }
  }
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    const auto best = std::min_element(last[arm].begin(), last[arm].end(), is_better);
    out[arm].chosen = best->value;
    out[arm].all_failed = !std::isfinite(best->loss);
    out[arm].at_edge = is_at_edge(best->value, tune.values);
  }
  return out;
}

}  // namespace evenkeel::study
