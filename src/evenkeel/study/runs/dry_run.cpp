// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/dry_run.h"

#include <algorithm>

#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/runs/successive_halving.h"

namespace evenkeel::study {

std::optional<double> DryRun::hours(int cores) const {
  if (search_runs > 0 || !(cached_seconds > 0) || !(cached_flops > 0)) return std::nullopt;
  constexpr double kSecondsPerHour = 3600;
  const auto at_once = std::min(static_cast<double>(cores), static_cast<double>(runs - cached));
  if (!(at_once > 0)) return 0;
  return (flops - cached_flops) * cached_seconds / cached_flops / at_once / kSecondsPerHour;
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
  for (const auto& arm : arms) {
    for (const auto seed : request.study.seeds) {
      const auto config = config_of(request.study, arm, seed, {});
      const auto cost = request.cost(config);
      ++out.runs;
      out.flops += cost.flops;
      if (seed == request.study.seeds.front()) out.search_flops += cost.flops * effort.full_runs;
      out.tokens += run_tokens(config, cost);
      if (cost.memory_bytes > out.max_bytes) {
        out.max_bytes = cost.memory_bytes;
        out.largest_run = arm.name;
      }
      if (request.study.tune) continue;  // its learning rate is not known yet
      const auto key = run_cache_key(cache_keys, request, resources, config, cost);
      const auto folder = resources.run_cache / key;
      const auto state = run_status(folder).state;
      if (state != RunStatus::State::finished && state != RunStatus::State::diverged) continue;
      ++out.cached;
      out.cached_flops += cost.flops;
      out.cached_seconds += report::read_run(folder).seconds;
    }
  }
  return out;
}

}  // namespace evenkeel::study
