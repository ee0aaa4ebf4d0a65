// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace evenkeel::study {

/// All hypotheses of a study that are tested together. One that is added twice counts once.
class HypothesisFamily {
 public:
  /// \param hypothesis  names it: equal hypotheses have equal names
  /// \param p  its p-value, which a later correction replaces; lives until then
  void add(const std::string& hypothesis, double& p);

  /// Whether it was added.
  bool contains(const std::string& hypothesis) const { return p_values_.contains(hypothesis); }

  /// How many there are.
  std::size_t size() const { return p_values_.size(); }

  /// Corrects them together. \source Holm 1979
  void apply_holm();

 private:
  std::map<std::string, std::vector<double*>> p_values_;
};

}  // namespace evenkeel::study
