// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_jobs.h"

#include <cmath>
#include <utility>

#include "evenkeel/base/number.h"

namespace evenkeel::study {

StudyJobs::StudyJobs(const StudyRequest& request, const Resources& resources)
    : request_(request), resources_(resources), arms_(grid_points(request.study)) {}

Job StudyJobs::job(const std::string& name, config::Config config) {
  const auto cost = request_.cost(config);
  auto run = key(config, cost);
  return {std::move(run), name, std::move(config), cost.memory_bytes, cost.flops};
}

std::string StudyJobs::key(const config::Config& config, const RunCost& cost) {
  return run_cache_key(cache_keys_, request_, resources_, config, cost);
}

config::Config StudyJobs::grid_config(const std::vector<SearchResult>& searched, std::size_t arm,
                                      std::int64_t seed) const {
  const auto& study = request_.study;
  std::vector<std::string> overrides;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', searched.at(arm).chosen));
  return config_of(study, arms_[arm], seed, overrides);
}

std::vector<SearchResult> StudyJobs::search(const Run& run) {
  const SearchCallbacks callbacks{
      .job = [&](const std::string& name,
                 config::Config config) { return job(name, std::move(config)); },
      .shortened =
          [&](config::Config config, double share) {
            const auto steps = request_.cost(config).steps;
            return shortened(std::move(config), steps, share);
          },
      .run = run,
      .loss = [&](const std::string& key) { return trial_loss(key); }};
  return successive_halving(request_.study, arms_, callbacks);
}

/// A trial has fewer steps than the run, so `fails_above` of the whole run does not apply to it.
double StudyJobs::trial_loss(const std::string& key) const {
  const auto folder = resources_.run_cache / key;
  if (run_status(folder).state != RunStatus::State::finished) return std::nan("");
  return report::last_finite(report::read_run(folder).validation_loss.y);
}

}  // namespace evenkeel::study
