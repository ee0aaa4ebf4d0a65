// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/dry_run.h"

#include <algorithm>
#include <map>

#include "evenkeel/base/number.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/refinement.h"
#include "evenkeel/study/runs/study_jobs.h"

namespace evenkeel::study {

namespace {

constexpr double kSecondsPerHour = 3600;

/// The bytes of the checkpoints that a finished run keeps.
double kept_bytes(const config::Config& config, const RunCost& cost) {
  return static_cast<double>(kept_checkpoints(config)) * cost.checkpoint_bytes;
}

/// The runs that JobScheduler starts at a time.
int runs_at_once(const DryRun& plan, const Study& study, const Resources& resources) {
  if (study.exclusive) return 1;
  auto most = std::min(static_cast<double>(resources.cores), static_cast<double>(plan.runs));
  if (resources.memory_bytes > 0 && plan.max_bytes > 0) {
    most = std::min(most, resources.memory_bytes / plan.max_bytes);
  }
  return std::max(1, static_cast<int>(most));
}

/// Adds the search of one arm.
void add_search(DryRun& out, const config::Config& config, const RunCost& cost,
                const SearchCost& effort) {
  out.search_runs += effort.runs;
  out.search_flops += cost.flops * effort.full_runs;
  out.checkpoint_bytes += kept_bytes(config, cost) * static_cast<double>(effort.runs);
}

/// Adds a run of the grid.
void add_run(DryRun& out, const config::Config& config, const RunCost& cost) {
  ++out.runs;
  out.flops += cost.flops;
  out.tokens += run_tokens(config, cost);
  out.checkpoint_bytes += kept_bytes(config, cost);
}

bool is_in_cache(const std::filesystem::path& folder) {
  const auto state = run_status(folder).state;
  return state == RunStatus::State::finished || state == RunStatus::State::diverged;
}

/// True for a run with a result; its cost is then no longer among that of the other runs.
bool subtract_if_cached(DryRun& out, const config::Config& config, const RunCost& cost,
                        const std::filesystem::path& folder) {
  if (!is_in_cache(folder)) return false;
  out.checkpoint_bytes -= kept_bytes(config, cost);
  out.cached_flops += cost.flops;
  out.cached_seconds += report::read_run(folder).seconds;
  return true;
}

/// Repeats the search with the finished runs alone, and counts those. Adds further values of arms
/// whose best value is at an end of its range.
/// \return empty if a run of the search is missing
std::vector<SearchResult> repeat_search(DryRun& out, StudyJobs& jobs, const StudyRequest& request,
                                        const Resources& resources) {
  const auto& tune = *request.study.tune;
  std::size_t rungs = 0, candidates = tune.values.size();
  return jobs.search([&](const std::vector<Job>& trials) {
    // search_cost() counts neither further values nor those that equal trials keep
    const auto counted = ++rungs > tune.rungs.size() ? 0 : jobs.arms().size() * candidates;
    candidates = promoted_count(candidates);
    std::map<std::string, JobResult> results;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto& job = trials[i];
      const auto cost = request.cost(job.config);
      if (i >= counted) add_search(out, job.config, cost, {.runs = 1, .full_runs = 1});
      const bool is_cached =
          subtract_if_cached(out, job.config, cost, resources.run_cache / job.key);
      if (is_cached) ++out.search_cached;
      results[job.key].state = is_cached ? JobResult::State::finished : JobResult::State::not_run;
    }
    return results;
  });
}

/// Counts the runs of one arm of the grid.
/// \param searched  results of the search; empty without a search, or if it is not finished
void add_arm(DryRun& out, std::size_t arm, StudyJobs& jobs,
             const std::vector<SearchResult>& searched, const StudyRequest& request,
             const Resources& resources) {
  const auto& study = request.study;
  const bool is_known = !study.tune || !searched.empty();  // the configuration
  for (const auto seed : study.seeds) {
    const auto config = is_known ? jobs.grid_config(searched, arm, seed)
                                 : config_of(study, jobs.arms()[arm], seed, {});
    const auto cost = request.cost(config);
    add_run(out, config, cost);
    if (!is_known) continue;
    const auto folder = resources.run_cache / jobs.key(config, cost);
    if (subtract_if_cached(out, config, cost, folder)) ++out.cached;
  }
}

/// All runs of an arm as finished; false if one has no result.
bool all_cached(std::map<std::string, JobResult>& job_results, std::size_t arm, StudyJobs& jobs,
                const StudyRequest& request, const Resources& resources) {
  for (const auto seed : request.study.seeds) {
    const auto config = jobs.grid_config({}, arm, seed);
    const auto key = jobs.key(config, request.cost(config));
    if (!is_in_cache(resources.run_cache / key)) return false;
    job_results[key].state = JobResult::State::finished;
  }
  return true;
}

/// Counts the runs of Study::refine: those that the finished ones lead to, or, before the grid is
/// finished, as many as are expected.
void add_further_arms(DryRun& out, StudyJobs& jobs, const StudyRequest& request,
                      const Resources& resources) {
  const auto& study = request.study;
  const auto grid = jobs.arms();
  const auto runs = out.runs, cached = out.cached;
  Results results{.study = study};
  std::size_t known = 0;  // arms whose runs are finished
  for (auto points = grid; !points.empty(); points = further_points(grid, results)) {
    if (known > 0) jobs.add_arms(points);
    for (auto arm = std::max(known, grid.size()); arm < jobs.arms().size(); ++arm)
      add_arm(out, arm, jobs, {}, request, resources);
    std::map<std::string, JobResult> job_results;
    for (; known < jobs.arms().size(); ++known) {
      if (!all_cached(job_results, known, jobs, request, resources)) break;
      auto& arms = known < grid.size() ? results.arms : results.further_arms;
      arms.push_back(jobs.arm({}, known, job_results));
    }
    if (known < jobs.arms().size()) break;
  }
  if (known < grid.size()) {
    const auto further = expected_further_points(study, grid) * study.seeds.size();
    for (std::size_t i = 0; i < further; ++i) {  // spread over the arms
      const auto config = jobs.grid_config({}, i % grid.size(), study.seeds.front());
      add_run(out, config, request.cost(config));
    }
  }
  out.further_runs = out.runs - runs;
  out.further_cached = out.cached - cached;
  out.runs = runs;
  out.cached = cached;
}

}  // namespace

std::optional<double> DryRun::hours() const {
  if (!(cached_seconds > 0) || !(cached_flops > 0)) return std::nullopt;
  return hours_at(cached_flops / cached_seconds * at_once);
}

double DryRun::hours_at(double rate) const {
  if (is_finished()) return 0;  // without a rounding error
  const double training = std::max(0.0, flops - cached_flops + search_flops) / rate;
  const double starts = kSecondsARun * static_cast<double>(runs_left()) / at_once;
  return (training + starts) / kSecondsPerHour;
}

std::string disk_warning(const DryRun& plan, const std::filesystem::path& run_cache) {
  const auto free = static_cast<double>(free_disk_bytes(run_cache));
  if (free < 0 || plan.disk_bytes() <= free) return "";
  return text("the checkpoints of the runs take ", bytes_text(plan.disk_bytes()), ", but ",
              bytes_text(free), " are free on the disk of ", run_cache.string(),
              "; free space, or name a folder on another disk with --run");
}

DryRun dry_run(const StudyRequest& request, const Resources& resources) {
  DryRun out;
  StudyJobs jobs(request, resources);
  const auto& study = request.study;
  const auto arms = jobs.arms();
  check_runs(study, arms);
  jobs.check_search();
  out.arms = arms.size();
  out.hypotheses = std::max<std::size_t>(1, hypothesis_count(study));
  if (study.seeds.size() >= 2) {
    out.minimum_detectable_effect =
        minimum_detectable_effect(static_cast<std::int64_t>(study.seeds.size()),
                                  kSignificanceLevel / static_cast<double>(out.hypotheses));
  }
  double largest_checkpoint = 0;
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    const auto config = config_of(study, arms[arm], study.seeds.front(), {});
    const auto cost = request.cost(config);
    largest_checkpoint = std::max(largest_checkpoint, cost.checkpoint_bytes);
    if (study.tune) add_search(out, config, cost, search_cost(*study.tune));
    if (cost.memory_bytes > out.max_bytes) {
      out.max_bytes = cost.memory_bytes;
      out.largest_run = arms[arm].name;
      out.largest_arm = arm;
    }
  }
  std::vector<SearchResult> searched;
  if (study.tune) searched = repeat_search(out, jobs, request, resources);
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    add_arm(out, arm, jobs, searched, request, resources);
  }
  if (study.refine) add_further_arms(out, jobs, request, resources);
  out.at_once = runs_at_once(out, study, resources);
  if (!out.is_finished()) {
    out.running_bytes = 2 * out.at_once * largest_checkpoint + store::kCheckpointReserve;
  }
  return out;
}

}  // namespace evenkeel::study
