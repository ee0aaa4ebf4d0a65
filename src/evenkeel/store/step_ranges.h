// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace evenkeel::store {

/// Steps in ascending order, as arithmetic progressions: 10, 20, ..., 400 is one.
class StepRanges {
 public:
  /// Adds a step. A step that is not above the last one is ignored. Beyond 1000 progressions the
  /// oldest is forgotten.
  void add(std::int64_t step);

  /// [[first, last, stride], ...]
  nlohmann::json json() const;

  /// Reads json(). The result is nullopt if the value is no such list, or if it has more than ten
  /// million steps.
  static std::optional<StepRanges> from_json(const nlohmann::json& value);

  /// The steps that are not in `found`, as text: "step 12" or "steps 40 to 60, 80"; "" if there are
  /// none.
  std::string missing_from(const std::set<std::int64_t>& found) const;

 private:
  struct Progression {
    std::int64_t first = 0, last = 0, stride = 1;
  };
  std::vector<Progression> all_;
};

}  // namespace evenkeel::store
