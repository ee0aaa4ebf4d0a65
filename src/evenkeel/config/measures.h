// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::config {

/// A quantity that a probe measures, as kurtosis or gradient norm.
struct Measure {
  const char* name;
  const char* meaning;     // one line, with its unit
  bool by_default = true;  // part of "all"; else only if it is named
};

/// All measures in the order of reports. docs/probes.md has their formulas.
const std::vector<Measure>& measures();

/// The words of the key `probe.what`: "all", and the name of every measure.
std::vector<std::string> measure_names();

}  // namespace evenkeel::config
