// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Lengths with a unit: tokens ("100Mt", with a prefix k, M, G or T) and percent of the run ("5%").
namespace evenkeel::config {

/// A length of training: 60 optimizer steps, "100Mt" (tokens), or "5%" (of the run).
struct Length {
  enum class Unit { steps, tokens, percent };
  double amount = 0;
  Unit unit = Unit::steps;
  bool operator==(const Length&) const = default;
};

/// Parses a length in tokens or percent; tokens are rounded to integers. Steps are TOML integers,
/// not strings.
/// \return nullopt for another form, and outside of 0 to 1e18 tokens or 0 to 100 %
std::optional<Length> parse_length(std::string_view text);

/// The length as TOML: 60, "100Mt", "5%". Parsing it gives an equal Length.
std::string length_text(const Length& length);

}  // namespace evenkeel::config
