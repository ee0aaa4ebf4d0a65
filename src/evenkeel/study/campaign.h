// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/study/live.h"

namespace evenkeel::study {

/// One run that is wanted.
struct Job {
  std::string key;   // its folder in the pool
  std::string name;  // "hybrid_norm, layers 16, seed 2"
  config::Config config;
  double bytes = 0;  // of memory that it takes
  double work = 0;   // in any unit, for the remaining time
};

/// How it ended.
struct Ending {
  enum class How { finished, diverged, crashed, untried };  // untried: stopped before its end
  How how = How::untried;
  std::string why;
};

/// What a campaign works with.
struct Means {
  std::filesystem::path program;  // that trains: PROGRAM train --config ... --run ...
  std::filesystem::path pool;     // of run folders
  std::filesystem::path logs;     // what each process printed
  int cores = 1;
  bool alone = false;  // one run at a time, with all cores or as many as its configuration says
  double bytes = 0;    // free memory; 0: not known
  double minutes = 0;  // no run is started later; 0: no limit
  std::function<bool()> stop_wanted;
};

/// Runs jobs in processes side by side, as many as there are cores and memory for, until all are
/// done or a stop is wanted. A run that is there already is not repeated, one that was begun goes
/// on, one that another process has in work is waited for, one that crashed is tried once more.
class Campaign {
 public:
  Campaign(Means means, Live& live);

  /// What run() will be called with in all, so that the time left is that of the whole.
  void expect(std::size_t runs, double work);

  /// \return how each key ended
  /// \throws Error (io) if the disk is full, once all runs that were in work have saved
  std::map<std::string, Ending> run(const std::vector<Job>& jobs);

  /// No run is started any more: a stop is wanted, or the time is up.
  bool is_over() const;

 private:
  struct Active;
  Means means_;
  Live& live_;
  double started_ = 0;
  Sum sum_;                   // of all calls
  std::size_t expected_ = 0;  // runs that run() was not called with yet
  double work_done_ = 0, work_left_ = 0;
};

}  // namespace evenkeel::study
