// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/layer_profile_builder.h"

#include <algorithm>
#include <limits>

namespace evenkeel::probe {

ParameterLocation location_of(const std::string& parameter, std::int64_t layers) {
  static const std::string kBlocks = "blocks.";
  if (parameter.starts_with(kBlocks)) {
    std::size_t digits = 0;
    const auto block = std::stoll(parameter.substr(kBlocks.size()), &digits);
    return {block + 1, parameter.substr(kBlocks.size() + digits + 1)};
  }
  return {parameter.starts_with("embedding") ? 0 : layers + 1, parameter};
}

void LayerProfileBuilder::add(const ParameterLocation& location, double value) {
  const bool in_block = location.layer >= 1 && location.layer <= layers_;
  auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const LayerProfile& profile) {
    return profile.part == location.part && (profile.first == location.layer || in_block);
  });
  if (found == profiles_.end()) {
    const auto size = in_block ? static_cast<std::size_t>(layers_) : 1;
    profiles_.push_back({measure_, location.part, in_block ? 1 : location.layer,
                         std::vector<double>(size, std::numeric_limits<double>::quiet_NaN())});
    found = profiles_.end() - 1;
  }
  found->values.at(static_cast<std::size_t>(location.layer - found->first)) = value;
}

}  // namespace evenkeel::probe
