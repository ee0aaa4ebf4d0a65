// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The layer of a parameter, and its name there.
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

/// \param layers  blocks of the model, N
ParameterLocation location_of(const std::string& parameter, std::int64_t layers);

/// Collects single values into profiles: one profile a part, in the order in which the parts were
/// first added. Parts of blocks have a value for each block, NaN where none was added.
class LayerProfileBuilder {
 public:
  LayerProfileBuilder(std::string measure, std::int64_t layers)
      : measure_(std::move(measure)), layers_(layers) {}

  /// Sets the value of a part at a layer.
  void add(const ParameterLocation& location, double value);

  /// Moves the profiles out.
  std::vector<LayerProfile> take() { return std::move(profiles_); }

 private:
  std::string measure_;
  std::int64_t layers_;
  std::vector<LayerProfile> profiles_;
};

}  // namespace evenkeel::probe
