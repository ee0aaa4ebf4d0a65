// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_jobs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/measure.h"

namespace evenkeel::study {

StudyJobs::StudyJobs(const StudyRequest& request, const Resources& resources)
    : request_(request), resources_(resources), arms_(grid_points(request.study)) {}

Job StudyJobs::job(const std::string& name, config::Config config) {
  const auto cost = request_.cost(config);
  auto run = key(config, cost);
  auto texts = cache_keys_.texts(config);
  return {std::move(run), name, std::move(config), cost.memory_bytes, cost.flops, std::move(texts)};
}

std::string StudyJobs::key(const config::Config& config, const RunCost& cost) {
  return run_cache_key(cache_keys_, request_, resources_, config, cost);
}

std::vector<std::string> StudyJobs::text_digests() {
  const auto& study = request_.study;
  std::vector<std::string> overrides, lines;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', study.tune->values.front()));
  for (const auto& arm : arms_) {
    const auto config = config_of(study, arm, study.seeds.front(), overrides);
    for (auto& line : text_lines(*cache_keys_.texts(config))) {
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  return lines;
}

void StudyJobs::check_search() {
  const auto& study = request_.study;
  if (!study.tune) return;
  const auto& tune = *study.tune;
  for (const auto& arm : arms_) {
    std::set<std::string> keys;
    for (const auto& value : tune.values) {
      const auto config = config_of(study, arm, tune.seed, {text(tune.key, '=', value)});
      keys.insert(job(arm.name, trial_config(config, tune.rungs.back())).key);
      if (keys.size() > 1) break;
    }
    if (keys.size() > 1) continue;
    throw Error(
        Exit::usage,
        text("study ", study.name, ": tune.key must change the trials of the search, but all ",
             "values of ", tune.key, " give arm ", arm.name, " one trial in the last rung ",
             "(a trial is evaluated at its end only, and its warm-up is at most half of its ",
             "steps); search another key or other values, or leave [tune] out"));
  }
}

config::Config StudyJobs::trial_config(config::Config config, double share) const {
  const auto steps = request_.cost(config).steps;
  return shortened(std::move(config), steps, share);
}

config::Config StudyJobs::grid_config(const std::vector<SearchResult>& searched, std::size_t arm,
                                      std::int64_t seed) const {
  const auto& study = request_.study;
  std::vector<std::string> overrides;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', searched.at(arm).chosen));
  return config_of(study, arms_[arm], seed, overrides);
}

void StudyJobs::add_arms(const std::vector<GridPoint>& points) {
  arms_.insert(arms_.end(), points.begin(), points.end());
}

SeedRun StudyJobs::seed_run(std::int64_t seed, const std::string& key,
                            const JobResult& job_result) const {
  SeedRun out{.seed = seed, .key = key, .value = std::nan("")};
  const auto folder = resources_.run_cache / key;
  if (run_status(folder).state != RunStatus::State::absent) out.run = report::read_run(folder);
  if (job_result.state == JobResult::State::not_run) {
    out.reason = "not run yet";
    return out;
  }
  if (job_result.state == JobResult::State::crashed) {
    out.state = SeedRun::State::crashed;
    out.reason = job_result.reason;
    return out;
  }
  out.reason = failure_reason(out.run, request_.study.fails_above);
  out.state = out.reason.empty() ? SeedRun::State::finished : SeedRun::State::failed;
  out.value = seed_run_value(out, request_.study.measure);
  return out;
}

/// A run of an arm whose search has a crashed trial: another value may be the best one.
SeedRun StudyJobs::waiting_run(std::int64_t seed, const std::string& key,
                               const SearchResult& searched) const {
  const auto& trial = *find_crashed_trial(searched);
  return {
      .reason = text("a trial of the search crashed: ", request_.study.tune->key, ' ', trial.value,
                     ", ", shortest(trial.share), " of the steps, folder ", trial.key),
      .seed = seed,
      .key = key,
      .value = std::nan("")};
}

Arm StudyJobs::arm(const std::vector<SearchResult>& searched, std::size_t index,
                   const std::map<std::string, JobResult>& job_results) {
  const auto& study = request_.study;
  Arm out{.name = arms_[index].name, .labels = arms_[index].labels};
  const bool waits = study.tune && find_crashed_trial(searched.at(index)) != nullptr;
  out.has_crashed_trial = waits;
  for (const auto seed : study.seeds) {
    const auto config = grid_config(searched, index, seed);
    const auto cost = request_.cost(config);
    const auto run = key(config, cost);
    out.seed_runs.push_back(waits ? waiting_run(seed, run, searched[index])
                                  : seed_run(seed, run, job_results.at(run)));
    out.parameters = cost.parameters;
    out.norm_parameters = cost.norm_parameters;
    out.norms_share = cost.norms_share;
    out.paper_norms_share = cost.paper_norms_share;
    out.tokens = run_tokens(config, cost);
    out.init = init_of(config);
    out.is_causal = is_causal(config);
    out.precision = cost.precision;
  }
  if (study.tune && !waits) out.tuned_value = searched.at(index).chosen;
  return out;
}

std::vector<SearchResult> StudyJobs::search(const Run& run) {
  const SearchCallbacks callbacks{
      .job = [&](const std::string& name,
                 config::Config config) { return job(name, std::move(config)); },
      .shortened = [&](config::Config config,
                       double share) { return trial_config(std::move(config), share); },
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
