// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/arms.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/config/setting.h"

namespace evenkeel::study {

namespace {

/// "layers" of "model.layers".
std::string short_name(const std::string& axis) {
  const auto dot = axis.find_last_of('.');
  return dot == std::string::npos ? axis : axis.substr(dot + 1);
}

/// A preset is no setting, but what lies below all of them.
void take_preset(config::Sources& sources, const std::string& set) {
  if (!set.starts_with("preset=")) {
    sources.sets.push_back(set);
    return;
  }
  const auto setting = config::parse_setting(set);
  sources.preset = setting.value.get("value")->value_or(std::string());
}

}  // namespace

std::string name_of(const Study& study, const std::map<std::string, std::string>& labels) {
  std::string name;
  for (const auto& axis : study.axes) {
    const auto found = labels.find(axis.name);
    if (found == labels.end() || (axis.values.size() == 1 && labels.size() > 1)) continue;
    if (!name.empty()) name += ", ";
    const bool tells_itself = axis.name == "scheme" || axis.name.find('.') == std::string::npos;
    name += tells_itself ? found->second : short_name(axis.name) + " " + found->second;
  }
  return name;
}

std::vector<Combination> combinations(const Study& study) {
  std::vector<Combination> all(1);
  for (const auto& axis : study.axes) {
    std::vector<Combination> longer;
    for (const auto& combination : all) {
      for (const auto& value : axis.values) {
        auto next = combination;
        next.labels[axis.name] = value.label;
        next.sets.insert(next.sets.end(), value.sets.begin(), value.sets.end());
        longer.push_back(std::move(next));
      }
    }
    all = std::move(longer);
  }
  for (auto& each : all) {
    each.name = name_of(study, each.labels);
    if (each.name.empty()) each.name = study.axes.front().values.front().label;
  }
  return all;
}

bool is_in(const std::map<std::string, std::string>& labels, const Selection& selection) {
  return std::all_of(selection.begin(), selection.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

Selection rest_of(const std::map<std::string, std::string>& labels, const Selection& named) {
  Selection rest;
  for (const auto& [axis, label] : labels) {
    if (!named.contains(axis)) rest[axis] = label;
  }
  return rest;
}

config::Config config_of(const Study& study, const Combination& combination, std::int64_t seed,
                         const std::vector<std::string>& more) {
  config::Sources sources;
  for (const auto& set : study.settings) take_preset(sources, set);
  for (const auto& set : combination.sets) take_preset(sources, set);
  sources.sets.push_back(text("seed=", seed));
  sources.sets.insert(sources.sets.end(), more.begin(), more.end());
  try {
    return config::resolve(sources);
  } catch (const Error& error) {
    throw Error(error.exit(),
                text("study ", study.name, ", arm \"", combination.name, "\": ", error.what()));
  }
}

}  // namespace evenkeel::study
