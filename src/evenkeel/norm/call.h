// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/expression.h"

namespace evenkeel::norm {

/// A parsed name with argument expressions, not yet evaluated: `first(N/6)`,
/// `trunc_normal(1/sqrt(2.5*d), 3)`.
struct Call {
  std::string name;
  std::vector<Expression> arguments;
};

/// Parses `name(expression, ...)`. A comma inside inner parentheses belongs to the argument.
/// \return nullopt if the text has another form
/// \throws SchemeError bad_expression, unknown_function or unknown_variable for an invalid argument
std::optional<Call> parse_call(std::string_view text);

}  // namespace evenkeel::norm
