// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/norm/expression.h"

namespace evenkeel::norm {

/// What initial values are drawn from, with its numbers computed.
struct Distribution {
  enum class Kind {
    normal,        // first: standard deviation
    trunc_normal,  // first: standard deviation, second: cut at so many of them
    uniform,       // first: lower end, second: upper end
    xavier,        // first: gain; normal with gain * sqrt(2/(rows + columns))
  };
  Kind kind = Kind::normal;
  double first = 0;
  double second = 0;
};

/// "normal(0.02)", "trunc_normal(1/sqrt(2.5*d), 3)", "uniform(-0.01, 0.01)", "xavier(1)".
/// \return nothing for "default", which is the trainer's own
/// \throws SchemeError bad_value, or of the expressions
std::optional<Distribution> distribution_of(const std::string& text, const Variables& variables);

}  // namespace evenkeel::norm
