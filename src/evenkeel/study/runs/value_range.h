// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// The values of a key that a search, or Study::refine, tries next.
namespace evenkeel::study {

/// The value beyond the end of the range at which `best` is, with the ratio of the last two;
/// nullopt where it is at no end.
/// \param rising  positive numbers; `best` is one of them
/// \return a number of three digits
std::optional<std::string> value_beyond(double best, const std::vector<double>& rising);

/// The geometric means of `best` and its neighbours, where the ratio of the two is above 1.5, so
/// that values in steps of two get one in steps of sqrt(2).
/// \param rising  positive numbers; `best` is one of them
/// \return numbers of three digits
std::vector<std::string> values_between(double best, const std::vector<double>& rising);

}  // namespace evenkeel::study
