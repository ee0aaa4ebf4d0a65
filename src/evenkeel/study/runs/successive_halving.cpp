// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/successive_halving.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/runs/value_range.h"

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

/// The values as numbers, ascending; empty if one is a word.
std::vector<double> sorted_numbers(const std::vector<std::string>& values) {
  std::vector<double> out;
  for (const auto& value : values) {
    const auto number = number_of(value);
    if (!number) return {};
    out.push_back(*number);
  }
  std::ranges::sort(out);
  return out;
}

/// True for the first or last value of the range, sorted if all values are numbers.
bool is_at_edge(const std::string& chosen, const std::vector<std::string>& values) {
  const auto numbers = sorted_numbers(values);
  if (numbers.empty()) return chosen == values.front() || chosen == values.back();
  const double number = *number_of(chosen);
  return number == numbers.front() || number == numbers.back();
}

/// Sets the losses of trials. \return false if one was not run
bool set_losses(std::vector<SearchResult::Trial>& trials, const SearchCallbacks& search,
                const std::map<std::string, JobResult>& job_results) {
  for (auto& each : trials) {
    const auto state = job_results.at(each.key).state;
    if (state == JobResult::State::not_run) return false;
    each.crashed = state == JobResult::State::crashed;
    each.loss = each.crashed ? std::nan("") : search.loss(each.key);
  }
  return true;
}

/// A search of all arms.
class HalvingSearch {
 public:
  HalvingSearch(const Study& study, const std::vector<GridPoint>& arms,
                const SearchCallbacks& search)
      : study_(study),
        arms_(arms),
        search_(search),
        tried_(arms.size(), study.tune->values),
        last_(arms.size()),
        results_(arms.size()) {}

  /// Tries the values of each arm, the better half of those of the last rung.
  /// \return false if a trial was not run
  bool run_rung(double share);

  /// Tries further values of each arm whose best value is at an end of its range, one at a time.
  /// \return false if a trial was not run
  bool extend();

  std::vector<SearchResult> results();

 private:
  const SearchResult::Trial& best(std::size_t arm) const {
    return *std::ranges::min_element(last_[arm], is_better);
  }
  std::optional<std::string> further_value(std::size_t arm) const;

  const Study& study_;
  const std::vector<GridPoint>& arms_;
  const SearchCallbacks& search_;
  // Of each arm: its values; the trials of the last rung, further ones included; its result.
  std::vector<std::vector<std::string>> tried_;
  std::vector<std::vector<SearchResult::Trial>> last_;
  std::vector<SearchResult> results_;
};

bool HalvingSearch::run_rung(double share) {
  std::vector<Job> jobs;
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    const auto values = last_[arm].empty() ? tried_[arm] : promoted_values(last_[arm]);
    last_[arm] = make_trials(study_, arms_[arm], values, share, search_, jobs);
  }
  const auto job_results = search_.run(jobs);
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    if (!set_losses(last_[arm], search_, job_results)) return false;
    auto& trials = results_[arm].trials;
    trials.insert(trials.end(), last_[arm].begin(), last_[arm].end());
  }
  return true;
}

/// value_beyond() of the best trial; nullopt for other values than positive numbers, if the key may
/// not have it, or if no trial succeeded.
std::optional<std::string> HalvingSearch::further_value(std::size_t arm) const {
  const bool has_crashed =
      std::ranges::any_of(last_[arm], [](const auto& trial) { return trial.crashed; });
  if (has_crashed) return std::nullopt;  // another value may be the best
  const auto numbers = sorted_numbers(tried_[arm]);
  if (numbers.empty() || !(numbers.front() > 0)) return std::nullopt;
  auto value = value_beyond(*number_of(best(arm).value), numbers);
  if (!value || !std::isfinite(best(arm).loss)) return std::nullopt;
  const auto further = with_value(study_, arms_[arm], study_.tune->key, *value);
  return is_accepted(study_, further) ? value : std::nullopt;
}

bool HalvingSearch::extend() {
  for (std::int64_t i = 0; i < study_.tune->extend; ++i) {
    std::vector<Job> jobs;
    std::map<std::size_t, std::vector<SearchResult::Trial>> further;  // by arm, one each
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
      const auto value = further_value(arm);
      if (!value) continue;
      tried_[arm].push_back(*value);
      further[arm] =
          make_trials(study_, arms_[arm], {*value}, study_.tune->rungs.back(), search_, jobs);
    }
    if (jobs.empty()) return true;
    const auto job_results = search_.run(jobs);
    for (auto& [arm, trials] : further) {
      if (!set_losses(trials, search_, job_results)) return false;
      last_[arm].push_back(trials.front());
      results_[arm].trials.push_back(trials.front());
    }
  }
  return true;
}

std::vector<SearchResult> HalvingSearch::results() {
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    auto& result = results_[arm];
    result.arm = arm;
    result.chosen = best(arm).value;
    result.all_failed = !std::isfinite(best(arm).loss);
    result.at_edge = is_at_edge(result.chosen, tried_[arm]);
  }
  return std::move(results_);
}

}  // namespace

config::Config shortened(config::Config config, std::int64_t steps, double share) {
  using Unit = config::Length::Unit;
  const auto part = [&](std::int64_t whole) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(whole) * share));
  };
  const auto planned = config.schedule.steps > 0 ? config.schedule.steps : steps;
  config.train.steps = part(steps);
  config.train.tokens = 0;
  if (config.schedule.steps > 0) config.schedule.steps = part(planned);
  auto &warmup = config.schedule.warmup, &decay = config.schedule.decay;
  if (warmup.unit == Unit::tokens) {
    warmup.amount /= static_cast<double>(config.train.batch * config.model.context);
  } else if (warmup.unit == Unit::percent) {
    constexpr double kPercent = 0.01;
    warmup.amount *= kPercent * static_cast<double>(planned);
  }
  const double half = std::floor(static_cast<double>(config.train.steps) / 2);
  warmup = {std::min(std::round(warmup.amount), half), Unit::steps};
  if (decay.unit != Unit::percent) decay.amount = std::max(1.0, std::round(decay.amount * share));
  config.evaluate.every = 0;
  config.evaluate.tasks.clear();
  config.evaluate.texts.clear();
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
  const auto count = promoted_count(trials.size());
  std::set<std::string> keys;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i < count) keys.insert(trials[i].key);
    if (keys.contains(trials[i].key)) values.push_back(trials[i].value);
  }
  return values;
}

const SearchResult::Trial* find_crashed_trial(const SearchResult& searched) {
  const auto found = std::ranges::find_if(searched.trials, &SearchResult::Trial::crashed);
  return found == searched.trials.end() ? nullptr : &*found;
}

std::vector<SearchResult> successive_halving(const Study& study, const std::vector<GridPoint>& arms,
                                             const SearchCallbacks& search) {
  HalvingSearch halving(study, arms, search);
  for (const double share : study.tune->rungs) {
    if (!halving.run_rung(share)) return {};
  }
  if (!halving.extend()) return {};
  return halving.results();
}

}  // namespace evenkeel::study
