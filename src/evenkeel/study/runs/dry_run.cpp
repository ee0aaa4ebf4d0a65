// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/dry_run.h"

#include <algorithm>

#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/successive_halving.h"

namespace evenkeel::study {

namespace {

constexpr double kSecondsPerHour = 3600;

}  // namespace

std::optional<double> DryRun::hours(int cores) const {
  if (search_runs > 0 || !(cached_seconds > 0) || !(cached_flops > 0)) return std::nullopt;
  const auto at_once = std::min(static_cast<double>(cores), static_cast<double>(runs - cached));
  if (!(at_once > 0)) return 0;
  return (flops - cached_flops) * cached_seconds / cached_flops / at_once / kSecondsPerHour;
}

double DryRun::hours_at(double rate) const {
  return (flops - cached_flops + search_flops) / rate / kSecondsPerHour;
}

std::string disk_warning(const DryRun& plan, const std::filesystem::path& run_cache) {
  const auto free = static_cast<double>(free_disk_bytes(run_cache));
  if (free < 0 || plan.checkpoint_bytes <= free) return "";
  return text("the checkpoints of the runs take ", bytes_text(plan.checkpoint_bytes), ", but ",
              bytes_text(free), " are free on the disk of ", run_cache.string());
}

DryRun dry_run(const StudyRequest& request, const Resources& resources) {
  DryRun out;
  RunCacheKeys cache_keys;
  const auto arms = grid_points(request.study);
  check_runs(request.study, arms);
  out.arms = arms.size();
  const auto effort = request.study.tune ? search_cost(*request.study.tune) : SearchCost{};
  out.search_runs = arms.size() * effort.runs;
  out.hypotheses = std::max<std::size_t>(1, hypothesis_count(request.study));
  if (request.study.seeds.size() >= 2) {
    out.minimum_detectable_effect =
        minimum_detectable_effect(static_cast<std::int64_t>(request.study.seeds.size()),
                                  kSignificanceLevel / static_cast<double>(out.hypotheses));
  }
  for (std::size_t at = 0; at < arms.size(); ++at) {
    const auto& arm = arms[at];
    for (const auto seed : request.study.seeds) {
      const auto config = config_of(request.study, arm, seed, {});
      const auto cost = request.cost(config);
      ++out.runs;
      out.flops += cost.flops;
      const auto kept = static_cast<double>(kept_checkpoints(config)) * cost.checkpoint_bytes;
      out.checkpoint_bytes += kept;
      if (seed == request.study.seeds.front()) {
        out.search_flops += cost.flops * effort.full_runs;
        out.checkpoint_bytes += kept * static_cast<double>(effort.runs);
      }
      out.tokens += run_tokens(config, cost);
      if (cost.memory_bytes > out.max_bytes) {
        out.max_bytes = cost.memory_bytes;
        out.largest_run = arm.name;
        out.largest_arm = at;
      }
      if (request.study.tune) continue;  // its learning rate is not known yet
      const auto key = run_cache_key(cache_keys, request, resources, config, cost);
      const auto folder = resources.run_cache / key;
      const auto state = run_status(folder).state;
      if (state != RunStatus::State::finished && state != RunStatus::State::diverged) continue;
      ++out.cached;
      out.checkpoint_bytes -= kept;
      out.cached_flops += cost.flops;
      out.cached_seconds += report::read_run(folder).seconds;
    }
  }
  return out;
}

}  // namespace evenkeel::study
