// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace evenkeel::study {

/// All questions that a study answers by a p-value. One that is asked twice counts once.
class Family {
 public:
  /// \param question  names it: equal questions have equal words
  /// \param p  its p-value, which a later correction replaces; lives until then
  void ask(const std::string& question, double& p);

  /// Whether it was asked.
  bool has(const std::string& question) const { return asked_.contains(question); }

  /// How many there are.
  std::size_t size() const { return asked_.size(); }

  /// Corrects them together. \source Holm 1979
  void correct();

 private:
  std::map<std::string, std::vector<double*>> asked_;
};

}  // namespace evenkeel::study
