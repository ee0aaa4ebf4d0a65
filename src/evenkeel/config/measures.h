// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::config {

/// A layer statistic of a probe, such as kurtosis or gradient norm.
struct Measure {
  const char* name;
  const char* meaning;      // one line with the unit
  bool by_default = true;   // true: part of "all"; false: only if named
  bool of_update = false;   // true: of an optimizer step, so only inside a run
  bool of_experts = false;  // true: of a mixture of experts
};

/// All measures in the order of reports. docs/probes.md has the formulas.
const std::vector<Measure>& measures();

/// The measure of this name; nullptr if there is none.
const Measure* measure_named(const std::string& name);

/// The valid values of the key `probe.what`: "all" and the name of every measure.
std::vector<std::string> measure_names();

}  // namespace evenkeel::config
