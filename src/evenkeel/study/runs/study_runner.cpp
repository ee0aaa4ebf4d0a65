// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_runner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/analysis/confounders.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/definition/own_schemes.h"
#include "evenkeel/study/definition/study_folder.h"
#include "evenkeel/study/report/csv.h"
#include "evenkeel/study/report/html_report.h"
#include "evenkeel/study/report/markdown_report.h"
#include "evenkeel/study/runs/refinement.h"
#include "evenkeel/study/runs/run_leases.h"
#include "evenkeel/study/runs/study_jobs.h"

namespace evenkeel::study {

namespace {

namespace fs = std::filesystem;

/// Runs one study.
class StudyRunner {
 public:
  StudyRunner(const StudyRequest& request, const Resources& resources, StudyJobs& jobs,
              ProgressTable& progress_table)
      : request_(request),
        study_(request.study),
        resources_(resources),
        progress_table_(progress_table),
        scheduler_(resources_, progress_table),
        jobs_(jobs),
        arms_(jobs_.arms()) {}

  Results run();

 private:
  std::map<std::string, JobResult> run_arms(std::size_t first);
  void run_further_arms(Results& results);
  void sum_training_time(Results& results) const;
  void expect_all_runs();
  bool waits(std::size_t arm) const;
  void cancel_waiting_runs();

  const StudyRequest& request_;
  const Study& study_;
  const Resources& resources_;
  ProgressTable& progress_table_;
  JobScheduler scheduler_;
  StudyJobs& jobs_;
  const std::vector<GridPoint>& arms_;
  std::vector<SearchResult> search_results_;
};

void StudyRunner::sum_training_time(Results& results) const {
  std::set<std::string> counted;
  double search_seconds = 0, grid_seconds = 0;
  for (const auto* const arm : all_arms(results)) {
    for (const auto& seed_run : arm->seed_runs) {
      if (counted.insert(seed_run.key).second) grid_seconds += seed_run.run.seconds;
    }
  }
  for (const auto& search_result : results.search_results) {
    for (const auto& each : search_result.trials) {
      const bool exists_already =
          run_status(resources_.run_cache / each.key).state != RunStatus::State::absent;
      if (exists_already && counted.insert(each.key).second) {
        search_seconds += report::read_run(resources_.run_cache / each.key).seconds;
      }
    }
  }
  results.seconds = grid_seconds + search_seconds;
  results.search_share = results.seconds > 0 ? search_seconds / results.seconds : 0;
}

/// Announces the work of all runs, searches included.
void StudyRunner::expect_all_runs() {
  const auto seeds = study_.seeds.size();
  const auto effort = study_.tune ? search_cost(*study_.tune) : SearchCost{};
  double flops = 0;
  for (const auto& arm : arms_) flops += request_.cost(config_of(study_, arm, 1, {})).flops;
  scheduler_.expect(arms_.size() * (seeds + effort.runs),
                    flops * (static_cast<double>(seeds) + effort.full_runs));
}

/// True if the search of an arm has a crashed trial: another value may be the best one, so no run
/// of the grid starts.
bool StudyRunner::waits(std::size_t arm) const {
  return study_.tune && find_crashed_trial(search_results_.at(arm)) != nullptr;
}

/// Takes the runs of the arms that wait out of the announced work.
void StudyRunner::cancel_waiting_runs() {
  const auto seeds = study_.seeds.size();
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    if (!waits(arm)) continue;
    const double flops = request_.cost(config_of(study_, arms_[arm], 1, {})).flops;
    scheduler_.cancel_expected(seeds, flops * static_cast<double>(seeds));
  }
}

/// True if all runs have finished or failed.
bool are_complete(const std::map<std::string, JobResult>& job_results) {
  return std::ranges::none_of(job_results, [](const auto& each) {
    return each.second.state == JobResult::State::not_run ||
           each.second.state == JobResult::State::crashed;
  });
}

/// Runs the arms from this one on, without those whose search has a crashed trial.
std::map<std::string, JobResult> StudyRunner::run_arms(std::size_t first) {
  std::vector<Job> jobs;
  const auto count = arms_.size() - first;
  for (std::size_t round = 0; round < study_.seeds.size(); ++round) {  // pairs first
    const auto seed = study_.seeds[round];
    for (std::size_t place = 0; place < count; ++place) {
      // Every second round reverses the order (ABBA), so that a slower machine affects all arms.
      const auto arm = first + (round % 2 == 0 ? place : count - 1 - place);
      if (waits(arm)) continue;
      jobs.push_back(jobs_.job(text(arms_[arm].name, ", seed ", seed),
                               jobs_.grid_config(search_results_, arm, seed)));
    }
  }
  return scheduler_.run(jobs);
}

/// Adds the arms of Study::refine. After a stop they have missing runs, so that no verdict is of a
/// part of them.
void StudyRunner::run_further_arms(Results& results) {
  const auto grid = arms_;
  for (auto points = further_points(grid, results); !points.empty();
       points = further_points(grid, results)) {
    const auto first = arms_.size();
    jobs_.add_arms(points);
    progress_table_.info(text("further values of ", study_.refine->axis,
                              " near the best: ", points.size() * study_.seeds.size(), " runs"));
    const auto job_results = run_arms(first);
    for (auto arm = first; arm < arms_.size(); ++arm) {
      results.further_arms.push_back(jobs_.arm(search_results_, arm, job_results));
    }
    results.is_complete = results.is_complete && are_complete(job_results);
  }
}

Results StudyRunner::run() {
  Results results{.study = study_,
                  .provenance = text(request_.provenance, ", numerics ", kNumericsVersion),
                  .command = request_.command};
  expect_all_runs();
  if (study_.tune) {
    progress_table_.info(
        text("searching the best ", study_.tune->key, " of each of ", arms_.size(), " arms"));
    search_results_ =
        jobs_.search([&](const std::vector<Job>& jobs) { return scheduler_.run(jobs); });
    if (search_results_.empty()) return results;
    cancel_waiting_runs();
  }
  const auto job_results = run_arms(0);
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    results.arms.push_back(jobs_.arm(search_results_, arm, job_results));
  }
  results.is_complete =
      are_complete(job_results) && std::ranges::none_of(results.arms, &Arm::has_crashed_trial);
  run_further_arms(results);
  results.search_results = search_results_;
  sum_training_time(results);
  return results;
}

/// True if a run of the study has not ended, but for the arms that wait for a crashed trial.
bool is_stopped(const Results& results) {
  const auto is_missing = [](const SeedRun& run) { return run.state == SeedRun::State::missing; };
  return results.arms.empty() || std::ranges::any_of(all_arms(results), [&](const Arm* arm) {
           return !arm->has_crashed_trial && std::ranges::any_of(arm->seed_runs, is_missing);
         });
}

/// What determines the bits of the runs on this machine.
std::string arithmetic_of(const StudyRequest& request, const std::vector<GridPoint>& arms) {
  const auto& study = request.study;
  std::vector<std::string> overrides;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', study.tune->values.front()));
  return request.cost(config_of(study, arms.front(), study.seeds.front(), overrides)).arithmetic;
}

/// Removes the leases of runs with a result. Those of crashed runs stay.
void remove_leases(const RunLeases& leases, const Results& results) {
  for (const auto* const arm : all_arms(results)) {
    for (const auto& run : arm->seed_runs) {
      const bool has_ended =  // another worker may train one that is missing here
          run.state == SeedRun::State::finished || run.state == SeedRun::State::failed;
      if (has_ended) leases.remove(run.key);
    }
  }
  for (const auto& search_result : results.search_results) {
    for (const auto& trial : search_result.trials) {
      if (!trial.crashed) leases.remove(trial.key);
    }
  }
}

void write_report(StudyFolder& folder, const Results& results) {
  std::vector<std::pair<std::string, std::string>> files = {{"report.html", html_report(results)},
                                                            {"report.md", markdown_report(results)},
                                                            {"runs.csv", runs_csv(results)}};
  if (results.study.tune) files.emplace_back("searches.csv", searches_csv(results));
  folder.write(files);
}

}  // namespace

double run_tokens(const config::Config& config, const RunCost& cost) {
  return static_cast<double>(cost.steps * config.train.batch * config.model.context);
}

void check_runs(const Study& study, const std::vector<GridPoint>& arms) {
  std::vector<std::string> overrides;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', study.tune->values.front()));
  check_further_values(study, arms);
  for (const auto& arm : arms) {
    const auto config = config_of(study, arm, study.seeds.front(), overrides);
    if (!config.train.from.empty()) {
      throw Error(Exit::usage, text("study ", study.name,
                                    ": train.from is not for studies, whose "
                                    "runs start from their own weights"));
    }
    check_measure(study.measure, config, study.exclusive);
    for (const auto& claim : study.claims) check_measure(claim.measure, config, study.exclusive);
    for (const double share : study.loss_shares)
      check_measure(loss_after(share), config, study.exclusive);
  }
}

void check_is_for_workers(const Study& study) {
  if (!study.exclusive) return;
  throw Error(Exit::usage,
              text("--workers: the runs of study ", study.name, " must be timed on one machine ",
                   "(alone = true), but workers share them; leave --workers out"));
}

Results run_study(const StudyRequest& request, Resources resources, ProgressTable& progress_table) {
  StudyJobs jobs(request, resources);
  check_runs(request.study, jobs.arms());
  if (request.is_worker) check_is_for_workers(request.study);
  jobs.check_search();
  StudyFolder::Options options{.allow_changes = request.allow_changes,
                               .schemes = own_schemes(request.study, jobs.arms()),
                               .texts = jobs.text_digests()};
  if (request.is_worker) {
    options.worker_arithmetic = arithmetic_of(request, jobs.arms());
    options.worker_texts = options.texts;
  }
  StudyFolder folder(request.folder, request.study, options);
  resources.logs = folder.logs();
  resources.exclusive = request.study.exclusive;
  std::optional<RunLeases> leases;
  if (request.is_worker) {
    leases.emplace(resources.run_cache, worker_name(), request.heartbeat_timeout);
    resources.leases = &*leases;
  }
  auto results = StudyRunner(request, resources, jobs, progress_table).run();
  analyze_claims(results);
  results.confounders = confounders(results);
  results.definition_changes = folder.changes();
  results.own_schemes = options.schemes;
  if (leases && is_stopped(results)) return results;
  write_report(folder, results);
  results.is_reported = true;
  if (leases) remove_leases(*leases, results);
  return results;
}

namespace {

norm::Scheme bound_scheme_of(const config::Config& config) {
  return config::bind(config.scheme, config::shape_of(config, data::vocabulary_of(config)));
}

}  // namespace

bool is_causal(const config::Config& config) {
  return norm::causal_in_evaluation(bound_scheme_of(config));
}

std::string init_of(const config::Config& config) {
  if (config.model.init != "scheme") return config.model.init;
  const auto scheme = bound_scheme_of(config);
  auto out = text("scheme: ", scheme.base_init == "default" ? "normal" : scheme.base_init);
  for (const auto& [weights, factor] : scheme.init) {
    for (const auto& weight : weights) out += text(", ", weight, " x ", factor.formula());
  }
  return out;
}

std::string run_cache_key(RunCacheKeys& cache_keys, const StudyRequest& request,
                          const Resources& resources, const config::Config& config,
                          const RunCost& cost) {
  const auto machine = text(request.provenance, ", ", resources.cores, " cores");
  return cache_keys.key(config, cost.arithmetic, request.study.exclusive ? machine : "");
}

}  // namespace evenkeel::study
