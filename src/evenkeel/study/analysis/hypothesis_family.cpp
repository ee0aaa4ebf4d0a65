// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/hypothesis_family.h"

namespace evenkeel::study {

void HypothesisFamily::add(const std::string& hypothesis, double& p) {
  p_values_[hypothesis].push_back(&p);
}

void HypothesisFamily::adjust(std::vector<double> (*method)(const std::vector<double>& p)) {
  std::vector<double> p;
  p.reserve(p_values_.size());
  for (const auto& [hypothesis, values] : p_values_) p.push_back(*values.front());
  const auto corrected = method(p);
  std::size_t i = 0;
  for (const auto& [hypothesis, values] : p_values_) {
    for (auto* const value : values) *value = corrected[i];
    ++i;
  }
}

}  // namespace evenkeel::study
