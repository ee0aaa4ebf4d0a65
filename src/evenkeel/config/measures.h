// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::config {

/// A quantity that a probe measures.
struct Measure {
  const char* name;
  const char* meaning;     // one line, with its unit
  bool by_default = true;  // or only where it is named
};

/// All of them, in the order of reports (docs/probes.md).
const std::vector<Measure>& measures();

/// What `probe.what` may name: "all", and every measure.
std::vector<std::string> measure_names();

}  // namespace evenkeel::config
