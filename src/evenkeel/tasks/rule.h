// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace evenkeel::tasks {

/// Whose rules turn log-probabilities into scores (docs/evaluation.md).
enum class Rule {
  olmo,     // OLMo, olmo/eval/downstream.py: lengths without the space before the continuation
  olmo_v2,  // ai2-olmo-eval, metrics "_v2": lengths with that space
  lm_eval,  // lm-evaluation-harness: context and continuation are encoded together
};

/// "olmo", "olmo_v2" or "lm_eval".
std::string_view name_of(Rule rule);
/// The rule of a name, as in evaluate.rule.
Rule rule_of(std::string_view name);

}  // namespace evenkeel::tasks
