// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/sweep_figures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "evenkeel/study/analysis/sweep.h"
#include "evenkeel/study/report/axis_figures.h"

namespace evenkeel::study {

namespace {

/// The sweeps that the study asks about, each once.
std::vector<Measure> sweeps_of(const Study& study) {
  std::vector<Measure> out;
  const auto add = [&](const Measure& measure) {
    if (measure.kind != Measure::Kind::sweep) return;
    if (std::ranges::find(out, measure) == out.end()) out.push_back(measure);
  };
  if (study.comparison) add(*study.comparison);
  for (const auto& claim : study.claims) add(claim.measure);
  return out;
}

/// A study without the axis of the measure, whose arms have the values of the measure.
Results along_one_axis_less(const Results& results, const Measure& measure) {
  Results out{.study = results.study, .arms = swept_arms(results, measure)};
  auto& study = out.study;
  std::erase_if(study.axes, [&](const Axis& axis) { return axis.name == measure.axis; });
  for (auto& arm : out.arms) arm.labels.erase(measure.axis);
  study.baseline.erase(measure.axis);
  study.measure = measure;
  return out;
}

}  // namespace

std::string sweep_figures(const Results& results) {
  std::string out;
  for (const auto& measure : sweeps_of(results.study)) {
    const auto swept = along_one_axis_less(results, measure);
    if (!swept.study.axes.empty()) out += axis_figures(swept);
  }
  return out;
}

}  // namespace evenkeel::study
