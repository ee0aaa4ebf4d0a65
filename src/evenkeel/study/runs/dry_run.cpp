// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/dry_run.h"

#include <algorithm>

#include "evenkeel/base/number.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/successive_halving.h"

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

/// Counts a run whose folder has a result as finished.
void subtract_if_cached(DryRun& out, const config::Config& config, const RunCost& cost,
                        const std::filesystem::path& folder) {
  const auto state = run_status(folder).state;
  if (state != RunStatus::State::finished && state != RunStatus::State::diverged) return;
  ++out.cached;
  out.checkpoint_bytes -= kept_bytes(config, cost);
  out.cached_flops += cost.flops;
  out.cached_seconds += report::read_run(folder).seconds;
}

}  // namespace

std::optional<double> DryRun::hours() const {
  if (search_runs > 0 || !(cached_seconds > 0) || !(cached_flops > 0)) return std::nullopt;
  return (flops - cached_flops) * cached_seconds / cached_flops / at_once / kSecondsPerHour;
}

double DryRun::hours_at(double rate) const {
  return (flops - cached_flops + search_flops) / rate / kSecondsPerHour;
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
  RunCacheKeys cache_keys;
  const auto& study = request.study;
  const auto arms = grid_points(study);
  check_runs(study, arms);
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
    for (const auto seed : study.seeds) {
      const auto run = config_of(study, arms[arm], seed, {});
      add_run(out, run, cost);
      if (study.tune) continue;  // its learning rate is not known yet
      const auto key = run_cache_key(cache_keys, request, resources, run, cost);
      subtract_if_cached(out, run, cost, resources.run_cache / key);
    }
  }
  out.at_once = runs_at_once(out, study, resources);
  if (out.cached < out.runs) {
    out.running_bytes = 2 * out.at_once * largest_checkpoint + store::kCheckpointReserve;
  }
  return out;
}

}  // namespace evenkeel::study
