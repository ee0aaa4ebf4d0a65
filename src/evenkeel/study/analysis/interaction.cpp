// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/interaction.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/comparison.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

/// The state of a difference of two runs. A probe that was taken before a failure has a value.
SeedRun::State state_of(const SeedRun& run, const SeedRun& other, double difference) {
  if (!has_result(run) || !has_result(other)) {
    const bool has_crashed =
        run.state == SeedRun::State::crashed || other.state == SeedRun::State::crashed;
    return has_crashed ? SeedRun::State::crashed : SeedRun::State::missing;
  }
  const bool has_failed =
      run.state == SeedRun::State::failed || other.state == SeedRun::State::failed;
  return has_failed && !std::isfinite(difference) ? SeedRun::State::failed
                                                  : SeedRun::State::finished;
}

/// The arm `arm` less the arm `reference`.
Arm difference_arm(const std::string& name, const Arm& arm, const Arm& reference,
                   const Measure& measure) {
  Arm out = arm;
  out.name = name;
  for (std::size_t i = 0; i < out.seed_runs.size(); ++i) {
    const auto &run = arm.seed_runs[i], &other = reference.seed_runs[i];
    const double difference = seed_run_value(run, measure) - seed_run_value(other, measure);
    out.seed_runs[i] = {.state = state_of(run, other, difference),
                        .seed = run.seed,
                        .value = difference,
                        .recorded = {{measure.name(), difference}}};
    out.seed_runs[i].run.cpu_contention =
        std::max(run.run.cpu_contention, other.run.cpu_contention);
  }
  return out;
}

}  // namespace

std::vector<Arm> difference_arms(const Study& study, const std::vector<Arm>& arms,
                                 const Claim& claim) {
  std::vector<Arm> out;
  const auto pair = text(labels_text(study, claim.of), " - ", labels_text(study, claim.than));
  for (const auto& arm : arms) {
    const bool is_compared = matches(arm.labels, claim.at) || matches(arm.labels, claim.than_at);
    if (!is_compared || !matches(arm.labels, claim.of)) continue;
    const auto reference =
        std::ranges::find(arms, replaced_labels(arm.labels, claim.than), &Arm::labels);
    if (reference == arms.end()) continue;
    auto place = remaining_labels(arm.labels, claim.of);
    if (claim.measure.kind == Measure::Kind::sweep) place.erase(claim.measure.axis);
    const auto name = text(pair, " (", labels_text(study, place), ")");
    out.push_back(difference_arm(name, arm, *reference, claim.measure));
  }
  return out;
}

}  // namespace evenkeel::study
