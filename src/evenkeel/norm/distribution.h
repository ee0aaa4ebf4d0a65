// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/norm/expression.h"

namespace evenkeel::norm {

/// The distribution of initial values, with its numbers evaluated.
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

/// Parses "normal(0.02)", "trunc_normal(1/sqrt(2.5*d), 3)", "uniform(-0.01, 0.01)" or "xavier(1)".
/// \param variables  of Shape::variables()
/// \return nothing for "default", which means model.init of the configuration
/// \throws SchemeError bad_value for another form or an empty range; or the expression's error
std::optional<Distribution> distribution_of(const std::string& text, const Variables& variables);

}  // namespace evenkeel::norm
