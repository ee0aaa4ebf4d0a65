// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A family of hypotheses whose p-values are corrected together. A hypothesis that is added twice
/// counts once.
class HypothesisFamily {
 public:
  /// \param hypothesis  unique name; equal hypotheses have equal names
  /// \param p           p-value, overwritten by adjust(); must outlive this object
  void add(const std::string& hypothesis, double& p);

  /// True if a hypothesis of this name was added.
  bool contains(const std::string& hypothesis) const { return p_values_.contains(hypothesis); }

  /// The number of distinct hypotheses.
  std::size_t size() const { return p_values_.size(); }

  /// Adjusts all p-values in place.
  /// \param method  holm() or benjamini_hochberg()
  void adjust(std::vector<double> (*method)(const std::vector<double>& p));

 private:
  std::map<std::string, std::vector<double*>> p_values_;
};

}  // namespace evenkeel::study
