// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/confounders.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/ranking.h"

namespace evenkeel::study {

namespace {

/// Something that should be the same, and what may set it.
struct Covariate {
  const char* name;
  std::function<std::string(const Arm&)> of;
  std::vector<std::string> keys;  // or how they begin
};

std::vector<Covariate> covariates() {
  const auto whole = [](double value) { return with_commas(std::llround(value)); };
  return {
      {"tokens a run",
       [=](const Arm& arm) { return whole(arm.tokens); },
       {"preset=", "train.", "model.context"}},
      {"parameters without those of norms",
       [](const Arm& arm) { return with_commas(arm.parameters - arm.norm_parameters); },
       {"preset=", "model."}},
      {"initialisation", [](const Arm& arm) { return arm.init; }, {"preset=", "model.init"}},
      {"precision", [](const Arm& arm) { return arm.precision; }, {"preset=", "train.precision"}}};
}

/// Whether an axis on which the two differ sets nothing but such keys: then they are what is
/// compared.
bool is_compared_difference(const Study& study, const Arm& one, const Arm& other,
                            const Covariate& covariate) {
  const auto is_key = [&](const std::string& setting) {
    return std::any_of(covariate.keys.begin(), covariate.keys.end(),
                       [&](const std::string& key) { return setting.starts_with(key); });
  };
  return std::any_of(study.axes.begin(), study.axes.end(), [&](const Axis& axis) {
    const auto &one_label = one.labels.at(axis.name), &other_label = other.labels.at(axis.name);
    if (one_label == other_label) return false;
    return std::all_of(axis.values.begin(), axis.values.end(), [&](const AxisValue& value) {
      const bool is_label_of_either = value.label == one_label || value.label == other_label;
      return !is_label_of_either ||
             std::all_of(value.settings.begin(), value.settings.end(), is_key);
    });
  });
}

}  // namespace

std::vector<std::string> confounders(const Results& results) {
  std::vector<std::string> out;
  for (const auto& covariate : covariates()) {
    std::set<const Arm*> arms;
    const auto check = [&](const Verdict& verdict) {
      const auto* const one = find_arm(results, verdict.arm);
      const auto* const other = find_arm(results, verdict.reference);
      if (one == nullptr || other == nullptr || covariate.of(*one) == covariate.of(*other)) return;
      if (is_compared_difference(results.study, *one, *other, covariate)) return;
      arms.insert(one);
      arms.insert(other);
    };
    for (const auto& verdict : results.verdicts) check(verdict);
    for (const auto& verdict : results.baseline_verdicts) check(verdict);
    if (arms.empty()) continue;
    std::vector<std::pair<std::string, std::string>> groups;  // a value, and who has it
    for (const auto& arm : results.arms) {
      if (!arms.contains(&arm)) continue;
      const auto value = covariate.of(arm);
      const auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& each) { return each.first == value; });
      if (group == groups.end()) {
        groups.emplace_back(value, arm.name);
      } else {
        group->second += ", " + arm.name;
      }
    }
    auto line = text(covariate.name, ":");
    for (const auto& [value, names] : groups) {
      line += text(line.ends_with(":") ? " " : "; ", value, " (", names, ")");
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace evenkeel::study
