// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "evenkeel/norm/expression.h"

namespace evenkeel::nn {

/// True if the expression names t, so that its value may differ between optimizer steps.
inline bool names_step(const norm::Expression& formula) {
  return formula.names().contains("t");
}

/// A number of the scheme that is not trained: its expression, and its value at the current
/// optimizer step. The default is 1.
struct StepNumber {
  norm::Expression formula = 1;
  double value = 1;

  StepNumber() = default;
  StepNumber(norm::Expression of, const norm::Variables& variables)
      : formula(std::move(of)), value(formula.value(variables)) {}

  /// Re-evaluates the expression.
  /// \return names_step()
  bool set_step(const norm::Variables& variables) {
    value = formula.value(variables);
    return names_step(formula);
  }
};

/// The value of an optional number; nullopt if the scheme does not have it.
inline std::optional<double> value_of(const std::optional<StepNumber>& number) {
  return number ? std::optional(number->value) : std::nullopt;
}

template <typename Part>
bool set_part_step(Part& part, const norm::Variables& variables) {
  return part.set_step(variables);
}
/// No effect if the scheme does not have the part.
template <typename Part>
bool set_part_step(std::optional<Part>& part, const norm::Variables& variables) {
  return part && part->set_step(variables);
}

/// Re-evaluates the expressions of all `parts`: numbers and layers with a member set_step().
/// \return true if an expression names t, the step
template <typename... Parts>
bool set_parts_step(const norm::Variables& variables, Parts&... parts) {
  bool any = false;
  ((any = set_part_step(parts, variables) || any), ...);
  return any;
}

}  // namespace evenkeel::nn
