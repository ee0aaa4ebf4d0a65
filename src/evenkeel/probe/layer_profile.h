// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Measurements inside a model: activations, attention and gradients, layer by layer.
namespace evenkeel::probe {

/// One quantity along the depth of a model.
struct LayerProfile {
  std::string measure;         // a name of config::measures()
  std::string part;            // part of a layer: "block", "q", "head 0"; may be ""
  std::int64_t first = 1;      // layer of values[0]: blocks are 1 .. N, 0 is before, N + 1 after
  std::vector<double> values;  // one a layer; NaN where a layer has no such part
};

}  // namespace evenkeel::probe
