// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Lengths with a unit: "100Mt" (tokens, with k, M, G or T before the t) and "5%" (of the run).
namespace evenkeel::config {

/// A length in optimizer steps, or with a unit: 60, "100Mt" (tokens), "5%" (of the run).
struct Length {
  enum class Unit { steps, tokens, percent };
  double amount = 0;
  Unit unit = Unit::steps;
  bool operator==(const Length&) const = default;
};

/// Parses a length with a unit; tokens are rounded to integers. Steps are TOML integers, not text.
/// \return nothing for another form, or outside 0 to 1e18 tokens or 0 to 100 %
std::optional<Length> parse_length(std::string_view text);

/// The length as TOML: 60, "100Mt", "5%". Reading it back gives the same length.
std::string length_text(const Length& length);

}  // namespace evenkeel::config
