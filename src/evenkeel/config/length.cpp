// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/length.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "evenkeel/base/number.h"
#include "evenkeel/config/quote.h"

namespace evenkeel::config {

namespace {

constexpr double kMostTokens = 1e18;
constexpr double kMostPercent = 100;

struct Unit {
  std::string_view suffix;
  std::int64_t tokens;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"Tt", 1'000'000'000'000}, {"Gt", 1'000'000'000}, {"Mt", 1'000'000}, {"kt", 1'000}, {"t", 1}}};

/// The number before `suffix`; nullopt if `text` has another form.
std::optional<double> number_before(std::string_view suffix, std::string_view text) {
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  double value = 0;
  const auto* const last = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)  the end is passed, too
  const auto [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
  if (error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Length> parse_length(std::string_view text) {
  if (const auto percent = number_before("%", text)) {
    if (*percent < 0 || *percent > kMostPercent) return std::nullopt;
    return Length{*percent, Length::Unit::percent};
  }
  for (const auto& [suffix, tokens] : kUnits) {
    const auto amount = number_before(suffix, text);
    if (!amount) continue;
    const double total = std::round(*amount * static_cast<double>(tokens));
    if (total < 0 || total > kMostTokens) return std::nullopt;
    return Length{total, Length::Unit::tokens};
  }
  return std::nullopt;
}

std::string length_text(const Length& length) {
  const auto whole = static_cast<std::int64_t>(length.amount);
  if (length.unit == Length::Unit::steps) return std::to_string(whole);
  if (length.unit == Length::Unit::percent) {
    const bool is_whole = static_cast<double>(whole) == length.amount;
    return in_quotes((is_whole ? std::to_string(whole) : shortest(length.amount)) + "%");
  }
  for (const auto& [suffix, tokens] : kUnits) {
    if (whole != 0 && whole % tokens == 0) {
      return in_quotes(std::to_string(whole / tokens) + std::string(suffix));
    }
  }
  return in_quotes("0t");
}

}  // namespace evenkeel::config
