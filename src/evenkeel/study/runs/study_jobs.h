// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/study/runs/study_runner.h"
#include "evenkeel/study/runs/successive_halving.h"

namespace evenkeel::study {

/// Makes the jobs of one study, and reads the results of its search from the run cache.
class StudyJobs {
 public:
  /// \param request, resources  must outlive the object
  StudyJobs(const StudyRequest& request, const Resources& resources);

  /// A job with its cache key, memory and FLOPs (as `work`).
  Job job(const std::string& name, config::Config config);

  /// "data.train 0123456789abcdef...": the digest of each text of the grid, without repetitions.
  /// \throws Error (data) if a text cannot be read
  std::vector<std::string> text_digests();

  /// Checks that the values of the search differ in the trials of the last rung: equal trials would
  /// leave the choice to their order in the file.
  /// \throws Error (usage), with the arm; (data) if a text cannot be read
  void check_search();

  /// The cache key of a run.
  std::string key(const config::Config& config, const RunCost& cost);

  /// The configuration of a run of the grid.
  /// \param searched  results of the search, one per arm; empty for a study without a search
  config::Config grid_config(const std::vector<SearchResult>& searched, std::size_t arm,
                             std::int64_t seed) const;

  using Run = std::function<std::map<std::string, JobResult>(const std::vector<Job>&)>;
  /// The search of the study.
  /// \param run  executes jobs
  /// \return one result per arm; empty if a job was not run
  std::vector<SearchResult> search(const Run& run);

  /// The points of the grid, then those of add_arms().
  const std::vector<GridPoint>& arms() const { return arms_; }
  void add_arms(const std::vector<GridPoint>& points);

  /// An arm with the results of its runs.
  /// \param job_results  by cache key, of all runs of the arm; of an arm whose search has a crashed
  ///                     trial of none: its runs are missing
  Arm arm(const std::vector<SearchResult>& searched, std::size_t index,
          const std::map<std::string, JobResult>& job_results);

 private:
  double trial_loss(const std::string& key) const;
  config::Config trial_config(config::Config config, double share) const;
  SeedRun waiting_run(std::int64_t seed, const std::string& key,
                      const SearchResult& searched) const;
  SeedRun seed_run(std::int64_t seed, const std::string& key, const JobResult& job_result) const;

  const StudyRequest& request_;
  const Resources& resources_;
  std::vector<GridPoint> arms_;
  RunCacheKeys cache_keys_;
};

}  // namespace evenkeel::study
