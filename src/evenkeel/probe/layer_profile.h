// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Statistics of activations, attention and gradients of a model, by layer.
namespace evenkeel::probe {

/// One quantity of a model as a function of depth.
struct LayerProfile {
  std::string measure;         // a name of config::measures()
  std::string part;            // part of a layer: "block", "q", "head 0"; may be ""
  std::int64_t first = 1;      // layer of values[0]: 0 before, 1 .. N in, N + 1 after the blocks
  std::vector<double> values;  // one per layer; NaN if a layer has no such part
};

}  // namespace evenkeel::probe
