// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/by_layer.h"

#include <algorithm>
#include <limits>

namespace evenkeel::probe {

Place place_of(const std::string& parameter, std::int64_t layers) {
  static const std::string kBlocks = "blocks.";
  if (parameter.starts_with(kBlocks)) {
    std::size_t digits = 0;
    const auto block = std::stoll(parameter.substr(kBlocks.size()), &digits);
    return {block + 1, parameter.substr(kBlocks.size() + digits + 1)};
  }
  return {parameter.starts_with("embedding") ? 0 : layers + 1, parameter};
}

void ByLayer::add(const Place& place, double value) {
  const bool in_block = place.layer >= 1 && place.layer <= layers_;
  auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& profile) {
    return profile.part == place.part && (profile.first == place.layer || in_block);
  });
  if (found == profiles_.end()) {
    const auto size = in_block ? static_cast<std::size_t>(layers_) : 1;
    profiles_.push_back({measure_, place.part, in_block ? 1 : place.layer,
                         std::vector<double>(size, std::numeric_limits<double>::quiet_NaN())});
    found = profiles_.end() - 1;
  }
  found->values.at(static_cast<std::size_t>(place.layer - found->first)) = value;
}

}  // namespace evenkeel::probe
