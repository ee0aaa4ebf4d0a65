// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/confounders.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/ranking.h"

namespace evenkeel::study {

namespace {

/// A property of an arm that should be equal in all compared arms.
struct Covariate {
  const char* name;
  std::function<std::string(const Arm&)> of;  // its value as text
  std::vector<std::string> keys;              // prefixes of the settings that decide it
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

/// Whether the covariate itself is compared: an axis on which the two arms differ sets only its
/// keys.
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

/// The arms of all verdicts whose pair differs in a covariate that is not what is compared.
std::set<const Arm*> confounded_arms(const Results& results, const Covariate& covariate) {
  std::set<const Arm*> arms;
  for (const auto* const verdicts : {&results.verdicts, &results.baseline_verdicts}) {
    for (const auto& verdict : *verdicts) {
      const auto* const one = find_arm(results, verdict, verdict.arm);
      const auto* const other = find_arm(results, verdict, verdict.reference);
      if (one == nullptr || other == nullptr || covariate.of(*one) == covariate.of(*other))
        continue;
      if (is_compared_difference(results.study, *one, *other, covariate)) continue;
      arms.insert({one, other});
    }
  }
  return arms;
}

/// All arms, and then those of claims with arms of their own.
std::vector<const Arm*> every_arm(const Results& results) {
  std::vector<const Arm*> out;
  out.reserve(results.arms.size());
  for (const auto& arm : results.arms) out.push_back(&arm);
  for (const auto& [claim, arms] : results.claim_arms) {
    for (const auto& arm : arms) out.push_back(&arm);
  }
  for (const auto& arm : results.swept_comparison) out.push_back(&arm);
  return out;
}

}  // namespace

std::vector<Confounder> confounders(const Results& results) {
  std::vector<Confounder> out;
  for (const auto& covariate : covariates()) {
    const auto arms = confounded_arms(results, covariate);
    if (arms.empty()) continue;
    Confounder confounder{.covariate = covariate.name};
    auto& groups = confounder.groups;
    for (const auto* const arm : every_arm(results)) {
      if (!arms.contains(arm)) continue;
      const auto value = covariate.of(*arm);
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& each) { return each.value == value; });
      if (group == groups.end()) group = groups.insert(group, {value, {}});
      const bool is_new = std::count(group->arms.begin(), group->arms.end(), arm->name) == 0;
      if (is_new) group->arms.push_back(arm->name);
    }
    out.push_back(std::move(confounder));
  }
  return out;
}

}  // namespace evenkeel::study
