// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/own_schemes.h"

#include <algorithm>
#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/released_titles.h"

namespace evenkeel::study {

std::vector<OwnScheme> own_schemes(const Study& study, const std::vector<GridPoint>& arms) {
  std::vector<std::string> overrides;
  if (study.tune) overrides.push_back(text(study.tune->key, '=', study.tune->values.front()));
  std::vector<OwnScheme> out;
  std::map<std::string, std::vector<std::string>> known;  // name -> texts
  for (const auto& arm : arms) {
    const auto scheme = config_of(study, arm, study.seeds.front(), overrides).scheme;
    if (config::is_of_catalogue(scheme)) continue;
    auto toml = config::scheme_toml(config::with_released_titles(scheme));
    auto& same_name = known[scheme.name];
    if (std::ranges::find(same_name, toml) != same_name.end()) continue;
    same_name.push_back(toml);
    const auto count = same_name.size();
    out.push_back({count > 1 ? text(scheme.name, ", ", count) : scheme.name, std::move(toml)});
  }
  return out;
}

}  // namespace evenkeel::study
