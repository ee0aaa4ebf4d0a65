// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace evenkeel {

namespace {

/// Divides `value` by `step` until it is below `step` or the last unit is reached: "1.5 KiB".
std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  std::array<char, 48> out{};
  const bool whole = unit == 0 && value == std::floor(value);
  std::snprintf(out.data(), out.size(), whole ? "%.0f%s" : "%.1f%s", value, units.at(unit));
  return out.data();
}

}  // namespace

std::string shortest(double value) {
  std::array<char, 32> out{};
  const auto end = std::to_chars(out.data(), out.data() + out.size(), value).ptr;
  std::string digits(out.data(), end);
  if (digits.find_first_not_of("-0123456789") == std::string::npos) digits += ".0";
  return digits;
}

std::string with_digits(double value, int digits) {
  if (std::isnan(value)) return "nan";  // printf would also print "-nan"
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.*g", digits, value);
  return out.data();
}

std::string with_decimals(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  std::array<char, 352> out{};  // the largest double has 309 digits
  std::snprintf(out.data(), out.size(), "%.*f", decimals, value);
  return out.data();
}

std::string percent(double share) {
  constexpr double kHundred = 100;
  constexpr int kDigits = 3;
  return with_digits(kHundred * share, kDigits) + " %";
}

std::string with_commas(std::int64_t value) {
  auto digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (auto at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string with_unit(double value) {
  return scaled(value, 1000, {"", "k", "M", "G", "T"});
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "-";
  const auto whole = static_cast<long>(std::lround(seconds));
  std::array<char, 48> out{};
  if (whole >= 3600) {
    std::snprintf(out.data(), out.size(), "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(out.data(), out.size(), "%ld:%02ld", whole / 60, whole % 60);
  }
  return out.data();
}

}  // namespace evenkeel
