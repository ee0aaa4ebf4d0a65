// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

using Losses = std::vector<std::vector<double>>;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool is_missing(const std::vector<double>& row) {
  return std::any_of(row.begin(), row.end(), [](double loss) { return std::isnan(loss); });
}

/// The lowest mean over the seeds; `sums` are over `seeds` of them.
double lowest_mean(const std::vector<double>& sums, std::size_t seeds) {
  return *std::min_element(sums.begin(), sums.end()) / static_cast<double>(seeds);
}

/// Sweep::best of complete rows, in their order; NaN for a single one. The pseudo-value of a seed
/// is n * lowest - (n - 1) * lowest without it, and is moved so that the mean is `lowest`.
std::vector<double> best_values(const Losses& losses) {
  const auto seeds = losses.size();
  if (seeds < 2) return std::vector<double>(seeds, kUnknown);
  std::vector<double> sums(losses.front().size()), remaining(losses.front().size());
  for (const auto& row : losses) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  }
  std::vector<double> out;
  double total = 0;
  for (const auto& row : losses) {
    for (std::size_t i = 0; i < sums.size(); ++i) remaining[i] = sums[i] - row[i];
    out.push_back(-static_cast<double>(seeds - 1) * lowest_mean(remaining, seeds - 1));
    total += out.back();
  }
  const double shift = lowest_mean(sums, seeds) - total / static_cast<double>(seeds);
  for (auto& value : out) value += shift;
  return out;
}

double sensitivity(const std::vector<double>& x, const std::vector<double>& row) {
  double area = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    area += (row[i - 1] + row[i]) / 2 * std::log(x[i] / x[i - 1]);
  }
  return area / std::log(x.back() / x.front()) - *std::min_element(row.begin(), row.end());
}

double log2_max_trainable(const std::vector<double>& x, const std::vector<double>& row) {
  const auto failed =
      std::find_if(row.begin(), row.end(), [](double loss) { return std::isinf(loss); });
  const auto finished = failed - row.begin();
  const double largest =
      finished == 0 ? x[0] * x[0] / x[1] : x[static_cast<std::size_t>(finished - 1)];
  return std::log2(largest);
}

/// Losses of at most the cap; NaN remains.
Losses capped(Losses losses, double cap) {
  for (auto& row : losses) {
    for (auto& loss : row) {
      if (!std::isnan(loss)) loss = std::min(loss, cap);
    }
  }
  return losses;
}

/// The loss of a run: infinity if it failed, NaN if it crashed or is missing.
double swept_loss(const SeedRun& seed_run) {
  switch (seed_run.state) {
    case SeedRun::State::finished:
      return seed_run.value;
    case SeedRun::State::failed:
      return std::numeric_limits<double>::infinity();
    case SeedRun::State::crashed:
    case SeedRun::State::missing:
      return kUnknown;
  }
  return kUnknown;
}

/// The arms that a measure is of: `best` is also of further values (Study::refine).
std::vector<const Arm*> arms_of(const Results& results, const Measure& measure) {
  auto out = all_arms(results);
  const auto& refine = results.study.refine;
  const bool is_refined =
      measure.sweep == Measure::Sweep::best && refine && refine->axis == measure.axis;
  if (!is_refined) out.resize(results.arms.size());
  return out;
}

/// The state of a seed along the axis: crashed if one of its runs crashed, missing if another run
/// has no loss, else finished.
SeedRun::State swept_state(const std::vector<std::pair<double, const Arm*>>& members,
                           std::size_t seed) {
  auto out = SeedRun::State::finished;
  for (const auto& [value, arm] : members) {
    const auto& run = arm->seed_runs[seed];
    if (run.state == SeedRun::State::crashed) return run.state;
    if (std::isnan(swept_loss(run))) out = SeedRun::State::missing;
  }
  return out;
}

/// An arm with the value of each seed, of members that are sorted by x.
Arm swept_arm(const Study& study, const Measure& measure,
              const std::vector<std::pair<double, const Arm*>>& members) {
  Arm out = *members.front().second;
  auto labels = out.labels;
  labels.erase(measure.axis);
  out.name = labels_text(study, labels);
  out.labels[measure.axis] = kAllLabels;
  std::vector<double> x;
  Losses losses(out.seed_runs.size());
  for (const auto& [value, arm] : members) {
    x.push_back(value);
    for (std::size_t seed = 0; seed < losses.size(); ++seed) {
      losses[seed].push_back(swept_loss(arm->seed_runs[seed]));
    }
  }
  const auto values = sweep_values(measure.sweep, x, losses, measure.cap);
  out.swept_losses = capped(losses, measure.cap);
  for (std::size_t seed = 0; seed < values.size(); ++seed) {
    out.seed_runs[seed] = {.state = swept_state(members, seed),
                           .seed = out.seed_runs[seed].seed,
                           .value = values[seed],
                           .recorded = {{measure.name(), values[seed]}}};
  }
  return out;
}

}  // namespace

std::vector<double> sweep_values(Measure::Sweep sweep, const std::vector<double>& x, Losses losses,
                                 double cap) {
  EK_ASSERT(x.size() >= 2);
  std::vector<double> out(losses.size(), kUnknown);
  const auto limited = capped(losses, cap);
  std::vector<std::size_t> complete;
  Losses rows;
  for (std::size_t seed = 0; seed < losses.size(); ++seed) {
    if (is_missing(losses[seed])) continue;
    complete.push_back(seed);
    rows.push_back(limited[seed]);
    if (sweep == Measure::Sweep::sensitivity) out[seed] = sensitivity(x, limited[seed]);
    if (sweep == Measure::Sweep::max_trainable) out[seed] = log2_max_trainable(x, losses[seed]);
  }
  if (sweep != Measure::Sweep::best) return out;
  const auto best = best_values(rows);
  for (std::size_t i = 0; i < complete.size(); ++i) out[complete[i]] = best[i];
  return out;
}

std::vector<const Arm*> members_of(const Results& results, const Arm& swept,
                                   const Measure& measure) {
  auto rest = swept.labels;
  rest.erase(measure.axis);
  std::vector<const Arm*> out;
  for (const auto* const arm : arms_of(results, measure)) {
    if (matches(arm->labels, rest)) out.push_back(arm);
  }
  std::ranges::sort(out, {},
                    [&](const Arm* arm) { return *number_of(arm->labels.at(measure.axis)); });
  return out;
}

std::vector<Arm> swept_arms(const Results& results, const Measure& measure) {
  std::vector<std::pair<Selection, std::vector<std::pair<double, const Arm*>>>> groups;
  for (const auto* const arm : arms_of(results, measure)) {
    auto rest = arm->labels;
    const auto x = number_of(rest.at(measure.axis));
    EK_ASSERT(x.has_value());
    rest.erase(measure.axis);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& each) { return each.first == rest; });
    if (group == groups.end()) group = groups.insert(group, {rest, {}});
    group->second.emplace_back(*x, arm);
  }
  std::vector<Arm> out;
  for (auto& [rest, members] : groups) {
    std::sort(members.begin(), members.end());
    out.push_back(swept_arm(results.study, measure, members));
  }
  return out;
}

}  // namespace evenkeel::study
