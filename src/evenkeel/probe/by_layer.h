// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/probe/profile.h"

namespace evenkeel::probe {

/// Where a parameter stands: "blocks.3.attention.output.weight" is "attention.output.weight" of
/// layer 4; the embedding is of layer 0, what follows the blocks of layer N + 1.
struct Place {
  std::int64_t layer = 0;
  std::string part;
};
Place place_of(const std::string& parameter, std::int64_t layers);

/// Gathers single values into profiles, one a part in the order in which the parts were met.
/// Parts of blocks have a value for each block, NaN where there is none.
class ByLayer {
 public:
  ByLayer(std::string measure, std::int64_t layers)
      : measure_(std::move(measure)), layers_(layers) {}
  void add(const Place& place, double value);
  std::vector<Profile> take() { return std::move(profiles_); }

 private:
  std::string measure_;
  std::int64_t layers_;
  std::vector<Profile> profiles_;
};

}  // namespace evenkeel::probe
