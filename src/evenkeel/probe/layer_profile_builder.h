// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The layer of a parameter and its name there: "blocks.3.attention.output.weight" is
/// "attention.output.weight" of layer 4; the embedding is of layer 0, what follows the blocks of
/// layer N + 1.
struct ParameterLocation {
  std::int64_t layer = 0;
  std::string part;
};
ParameterLocation location_of(const std::string& parameter, std::int64_t layers);

/// Collects single values into profiles, one a part in the order in which the parts were added.
/// Parts of blocks have a value for each block, NaN where there is none.
class LayerProfileBuilder {
 public:
  LayerProfileBuilder(std::string measure, std::int64_t layers)
      : measure_(std::move(measure)), layers_(layers) {}
  void add(const ParameterLocation& location, double value);
  std::vector<LayerProfile> take() { return std::move(profiles_); }

 private:
  std::string measure_;
  std::int64_t layers_;
  std::vector<LayerProfile> profiles_;
};

}  // namespace evenkeel::probe
