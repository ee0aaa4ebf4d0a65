// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/grid.h"

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
void add_source(config::Sources& sources, const std::string& setting) {
  if (!setting.starts_with("preset=")) {
    sources.sets.push_back(setting);
    return;
  }
  const auto parsed = config::parse_setting(setting);
  sources.preset = parsed.value.get("value")->value_or(std::string());
}

}  // namespace

Selection replaced_labels(std::map<std::string, std::string> labels, const Selection& named) {
  for (const auto& [axis, label] : named) labels[axis] = label;
  return labels;
}

std::string labels_text(const Study& study, const std::map<std::string, std::string>& labels) {
  std::string name;
  for (const auto& axis : study.axes) {
    const auto found = labels.find(axis.name);
    if (found == labels.end() || (axis.values.size() == 1 && labels.size() > 1)) continue;
    if (!name.empty()) name += ", ";
    const bool is_self_explanatory =
        axis.name == "scheme" || axis.name.find('.') == std::string::npos;
    name += is_self_explanatory ? found->second : short_name(axis.name) + " " + found->second;
  }
  return name;
}

std::vector<GridPoint> grid_points(const Study& study) {
  std::vector<GridPoint> all(1);
  for (const auto& axis : study.axes) {
    std::vector<GridPoint> extended;
    for (const auto& point : all) {
      for (const auto& value : axis.values) {
        auto next = point;
        next.labels[axis.name] = value.label;
        next.settings.insert(next.settings.end(), value.settings.begin(), value.settings.end());
        extended.push_back(std::move(next));
      }
    }
    all = std::move(extended);
  }
  for (auto& each : all) {
    each.name = labels_text(study, each.labels);
    if (each.name.empty()) each.name = study.axes.front().values.front().label;
  }
  return all;
}

GridPoint with_value(const Study& study, GridPoint point, const std::string& key,
                     const std::string& value) {
  if (point.labels.contains(key)) point.labels[key] = value;
  std::erase_if(point.settings, [&](const auto& each) { return each.starts_with(key + "="); });
  point.settings.push_back(text(key, '=', value));
  point.name = labels_text(study, point.labels);
  return point;
}

bool matches(const std::map<std::string, std::string>& labels, const Selection& selection) {
  return std::all_of(selection.begin(), selection.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

Selection remaining_labels(const std::map<std::string, std::string>& labels,
                           const Selection& named) {
  Selection rest;
  for (const auto& [axis, label] : labels) {
    if (!named.contains(axis)) rest[axis] = label;
  }
  return rest;
}

config::Config config_of(const Study& study, const GridPoint& point, std::int64_t seed,
                         const std::vector<std::string>& overrides) {
  config::Sources sources;
  for (const auto& setting : study.settings) add_source(sources, setting);
  for (const auto& setting : point.settings) add_source(sources, setting);
  sources.sets.push_back(text("seed=", seed));
  sources.sets.insert(sources.sets.end(), overrides.begin(), overrides.end());
  try {
    return config::resolve(sources);
  } catch (const Error& error) {
    throw Error(error.exit(),
                text("study ", study.name, ", arm \"", point.name, "\": ", error.what()));
  }
}

std::string refusal_of(const Study& study, const GridPoint& point) {
  try {
    config_of(study, point, study.seeds.front(), {});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace evenkeel::study
