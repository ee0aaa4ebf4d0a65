// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/family.h"

#include "evenkeel/study/statistics.h"

namespace evenkeel::study {

void Family::ask(const std::string& question, double& p) {
  asked_[question].push_back(&p);
}

void Family::correct() {
  std::vector<double> p;
  for (const auto& [question, places] : asked_) p.push_back(*places.front());
  const auto corrected = holm(p);
  std::size_t i = 0;
  for (const auto& [question, places] : asked_) {
    for (auto* const place : places) *place = corrected[i];
    ++i;
  }
}

}  // namespace evenkeel::study
