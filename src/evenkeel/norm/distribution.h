// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/norm/expression.h"

namespace evenkeel::norm {

/// The distribution of the initial values of a matrix; its arguments are evaluated.
struct Distribution {
  enum class Kind {
    normal,        // first: standard deviation
    trunc_normal,  // first: standard deviation s; second: cut-off, in units of s
    uniform,       // first: lower bound; second: upper bound
    xavier,        // first: gain; normal, standard deviation gain * sqrt(2 / (rows + columns))
  };
  Kind kind = Kind::normal;
  double first = 0;
  double second = 0;
};

/// Parses "normal(0.02)", "trunc_normal(1/sqrt(2.5*d), 3)", "uniform(-0.01, 0.01)" or "xavier(1)".
/// \param variables  result of Shape::variables()
/// \return nullopt for "default", which selects model.init of the configuration
/// \throws SchemeError bad_value for another form, an empty range or a standard deviation that is
///         not positive; the SchemeError of an invalid argument
std::optional<Distribution> distribution_of(const std::string& text, const Variables& variables);

}  // namespace evenkeel::norm
