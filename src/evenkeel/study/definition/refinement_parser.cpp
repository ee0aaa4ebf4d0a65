// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/refinement_parser.h"

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/definition/claims_parser.h"

namespace evenkeel::study {

namespace {

/// True if each value of the axis is a positive number that sets the key of the axis.
bool has_positive_numbers(const Axis& axis) {
  return std::ranges::all_of(axis.values, [&](const AxisValue& value) {
    return number_of(value.label).value_or(0) > 0 && value.settings.size() == 1 &&
           value.settings.front() == axis.name + "=" + value.label;
  });
}

/// The measures `best` over an axis, of claims and comparisons.
std::vector<Measure> best_measures(const Study& study, const std::string& axis) {
  std::vector<Measure> out;
  const auto add = [&](const Measure& measure) {
    const bool is_best =
        measure.kind == Measure::Kind::sweep && measure.sweep == Measure::Sweep::best;
    if (is_best && measure.axis == axis) out.push_back(measure);
  };
  if (study.comparison) add(*study.comparison);
  for (const auto& claim : study.claims) add(claim.measure);
  return out;
}

/// Checks the axis, and sets the cap.
void check_refinement(Study& study, const std::string& where) {
  const auto place = where + ": [refine]: ";
  const auto must = [&](bool condition, const auto&... parts) {
    if (!condition) throw Error(Exit::usage, text(place, parts...));
  };
  const auto& name = study.refine->axis;
  const auto& axis = axis_named(study, name, place);
  must(axis.values.size() >= 2 && has_positive_numbers(axis), "the axis must be a key with two ",
       "or more positive numbers, such as schedule.peak = [1e-3, 2e-3, 4e-3], but ", name,
       " is not");
  must(!study.tune, "a study has further values near the best, or a search ([tune]), not both");
  const auto measures = best_measures(study, name);
  must(!measures.empty(), "it has no effect without a claim or a comparison of the best value: ",
       "measure = { over = \"", name, "\", as = \"best\" }");
  study.refine->cap = measures.front().cap;
  for (const auto& measure : measures) {
    must(measure.cap == study.refine->cap, "all measures of the best ", name, " must have one cap");
  }
}

}  // namespace

void parse_refinement(Study& study, config::TableReader& top, const std::string& where) {
  if (top.node("refine") == nullptr) return;
  auto table = top.section("refine");
  study.refine = {
      .axis = table.string("over", ""),
      .extend = table.integer("extend", kFurtherValues, {.least = 0, .most = kMostFurtherValues})};
  table.refuse_unknown_keys();
  check_refinement(study, where);
}

}  // namespace evenkeel::study
