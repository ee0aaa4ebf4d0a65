// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/refinement_parser.h"

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"

namespace evenkeel::study {

namespace {

/// True if each value of the axis is a positive number that sets the key of the axis.
bool has_positive_numbers(const Axis& axis) {
  return std::ranges::all_of(axis.values, [&](const AxisValue& value) {
    return number_of(value.label).value_or(0) > 0 && value.settings.size() == 1 &&
           value.settings.front().starts_with(axis.name + "=");
  });
}

void check_refinement(const Study& study, const std::string& where) {
  const auto must = [&](bool condition, const auto&... parts) {
    if (!condition) throw Error(Exit::usage, text(where, ": refine: ", parts...));
  };
  const auto& name = study.refine->axis;
  std::vector<std::string> known;
  known.reserve(study.axes.size());
  for (const auto& axis : study.axes) known.push_back(axis.name);
  const auto axis = std::ranges::find(study.axes, name, &Axis::name);
  must(axis != study.axes.end(), "no axis of the grid is named \"", name, "\"",
       did_you_mean(name, known));
  must(axis->values.size() >= 2 && has_positive_numbers(*axis), "the axis must be a key with two ",
       "or more positive numbers, such as schedule.peak = [1e-3, 2e-3, 4e-3], but ", name,
       " is not");
  must(!study.tune, "a study has further values near the best, or a search ([tune]), not both");
  must(study.measure.unit().starts_with("nats"),
       "the best value is the one with the lowest loss, but the study measures the ",
       study.measure.name());
}

}  // namespace

void parse_refinement(Study& study, config::TableReader& top, const std::string& where) {
  if (top.node("refine") == nullptr) return;
  auto table = top.section("refine");
  constexpr std::int64_t kFurtherValues = 4, kMostFurtherValues = 100;
  study.refine = {
      .axis = table.string("over", ""),
      .extend = table.integer("extend", kFurtherValues, {.least = 0, .most = kMostFurtherValues})};
  table.refuse_unknown_keys();
  check_refinement(study, where);
}

}  // namespace evenkeel::study
