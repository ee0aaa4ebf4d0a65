// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The layer of a parameter, and its name within the layer.
///
/// | parameter                        | layer | part                    |
/// | -------------------------------- | ----- | ----------------------- |
/// | embedding.weight                 | 0     | embedding.weight        |
/// | blocks.3.attention.output.weight | 4     | attention.output.weight |
/// | final_norm.gain, head.weight     | N + 1 | the whole name          |
struct ParameterLocation {
  std::int64_t layer = 0;
  std::string part;
};

/// \param layers  number of blocks, N
ParameterLocation location_of(const std::string& parameter, std::int64_t layers);

/// Collects single values into profiles: one profile per part, in the order of the first values. A
/// part of blocks has one value per block, NaN if none was added.
class LayerProfileBuilder {
 public:
  LayerProfileBuilder(std::string measure, std::int64_t layers)
      : measure_(std::move(measure)), layers_(layers) {}

  /// Sets the value of a part at a layer.
  void add(const ParameterLocation& location, double value);

  /// Moves all profiles out of the builder.
  std::vector<LayerProfile> take() { return std::move(profiles_); }

 private:
  std::string measure_;
  std::int64_t layers_;
  std::vector<LayerProfile> profiles_;
};

}  // namespace evenkeel::probe
