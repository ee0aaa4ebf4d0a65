// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/tune.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::study {

namespace {

std::int64_t share_of_steps(std::int64_t steps, double share) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(steps) * share));
}

/// Lowest loss first; what failed last, in the order of the values.
bool is_better(const Tuning::Try& left, const Tuning::Try& right) {
  return std::isfinite(left.loss) && (!std::isfinite(right.loss) || left.loss < right.loss);
}

/// The values that an arm tries next.
std::vector<std::string> next_values(const Tune& tune, const std::vector<Tuning::Try>& last) {
  if (last.empty()) return tune.values;
  auto sorted = last;
  std::stable_sort(sorted.begin(), sorted.end(), is_better);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < (sorted.size() + 1) / 2; ++i) values.push_back(sorted[i].value);
  return values;
}

}  // namespace

config::Config shortened(config::Config config, double share) {
  const auto whole = config.train.steps > 0
                         ? config.train.steps
                         : config.train.tokens / (config.train.batch * config.model.context);
  config.train.steps = share_of_steps(whole, share);
  config.train.tokens = 0;
  for (auto* const length : {&config.schedule.warmup, &config.schedule.decay}) {
    if (length->unit == config::Length::Unit::percent) continue;
    length->amount = std::max(1.0, std::round(length->amount * share));
  }
  config.evaluate.every = 0;
  config.probe.steps.clear();
  config.probe.every = 0;
  return config;
}

std::vector<Tuning> tuned(const Study& study, const std::vector<Combination>& arms,
                          const JobMaker& job, Campaign& campaign,
                          const std::function<double(const std::string& key)>& loss_of) {
  const auto& tune = *study.tune;
  std::vector<Tuning> out(arms.size());
  std::vector<std::vector<Tuning::Try>> last(arms.size());
  for (const double share : tune.rungs) {
    std::vector<Job> jobs;
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      std::vector<Tuning::Try> tries;
      for (const auto& value : next_values(tune, last[arm])) {
        const auto config = config_of(study, arms[arm], tune.seed, {text(tune.key, '=', value)});
        jobs.push_back(
            job(text(arms[arm].name, ", search ", value, ", ", shortest(share), " of the steps"),
                shortened(config, share)));
        tries.push_back({.value = value, .share = share, .key = jobs.back().key});
      }
      last[arm] = std::move(tries);
    }
    const auto endings = campaign.run(jobs);
    const bool is_whole = std::none_of(endings.begin(), endings.end(), [](const auto& each) {
      return each.second.how == Ending::How::untried;
    });
    if (!is_whole) return {};
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      for (auto& each : last[arm]) each.loss = loss_of(each.key);
      out[arm].arm = arm;
      out[arm].tries.insert(out[arm].tries.end(), last[arm].begin(), last[arm].end());
    }
  }
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    out[arm].chosen = std::min_element(last[arm].begin(), last[arm].end(), is_better)->value;
    out[arm].at_edge =
        out[arm].chosen == tune.values.front() || out[arm].chosen == tune.values.back();
  }
  return out;
}

}  // namespace evenkeel::study
