// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/rule.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "evenkeel/base/error.h"

namespace evenkeel::tasks {

namespace {

constexpr std::array<std::string_view, 3> kRuleNames = {"olmo", "olmo_v2", "lm_eval"};

}  // namespace

std::string_view name_of(Rule rule) {
  return kRuleNames.at(static_cast<std::size_t>(rule));
}

Rule rule_of(std::string_view name) {
  const auto* const found = std::find(kRuleNames.begin(), kRuleNames.end(), name);
  EK_ASSERT(found != kRuleNames.end());
  return static_cast<Rule>(found - kRuleNames.begin());
}

}  // namespace evenkeel::tasks
