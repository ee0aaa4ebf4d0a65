// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/axis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

constexpr double kTen = 10;
constexpr std::array<double, 3> kNice = {1, 2, 5};
constexpr double kLargestEnd = 1e300, kSmallestEnd = 1e-300;  // of the ends of an axis
constexpr double kLargestPlain = 1e15;  // from here on labels have an exponent
constexpr double kSlack = 1e-9;         // of a tick step: lets ends that are ticks count as inside

/// The smallest nice step that cuts [low, high] into at most `wanted` parts.
double nice_step(double low, double high, int wanted) {
  const double least = (high - low) / wanted;
  const double decade = std::pow(kTen, std::floor(std::log10(least)));
  for (const double times : kNice) {
    if (times * decade >= least * (1 - kSlack)) return times * decade;
  }
  return kTen * decade;
}

/// A power of 1000 that labels are divided by, and its letter.
struct Unit {
  double size;
  const char* letter;
};

/// The unit in which labels of values up to `largest` stay short; 1 where they have an exponent.
Unit unit_of(double largest) {
  constexpr std::array<Unit, 4> kUnits = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  if (largest >= kLargestPlain) return {1, ""};
  for (const auto& unit : kUnits) {
    if (largest >= kTen * unit.size) return unit;
  }
  return {1, ""};
}

/// True if the two are so close that ticks between them would have equal labels.
bool is_one_value(double low, double high) {
  constexpr double kResolution = 1e-9;
  const double least = kResolution * std::max(std::abs(low), std::abs(high));
  return !(high - low > std::max(least, kSmallestEnd));
}

/// The multiples of every `stride`-th power of ten that lie in [low, high].
std::vector<double> multiples_of_powers(double low, double high,
                                        const std::vector<double>& multiples, int stride) {
  std::vector<double> out;
  const int last = static_cast<int>(std::floor(std::log10(high)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= last; ++power) {
    if (power % stride != 0) continue;
    for (const double times : multiples) {
      const double at = times * std::pow(kTen, power);
      if (at >= low * (1 - kSlack) && at <= high * (1 + kSlack)) out.push_back(at);
    }
  }
  return out;
}

/// The label of a tick on an axis whose ticks are `step` apart and whose largest is `largest`.
std::string axis_label(double value, double step, double largest) {
  constexpr double kSmallestPlain = 1e-4;
  if (std::abs(value) < step * kSlack) return "0";
  if (step < kSmallestPlain && largest < 1) return short_number(value);
  if (largest >= kLargestPlain) return short_number(value);
  const auto unit = unit_of(largest);
  const double decimals = -std::floor(std::log10(step / unit.size) + kSlack);
  return fixed(value / unit.size, std::max(0, static_cast<int>(decimals))) + unit.letter;
}

}  // namespace

double Axis::place(double value) const {
  if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

std::string short_number(double value) {
  constexpr int kDigits = 4;
  std::array<char, 32> out{};
  const auto end =
      std::to_chars(out.data(), out.data() + out.size(), value, std::chars_format::general, kDigits)
          .ptr;
  std::string digits(out.data(), end);
  std::erase(digits, '+');
  const auto exponent = digits.find('e');
  if (exponent == std::string::npos) return digits;
  const auto zero = digits.find_first_not_of('-', exponent + 1);
  if (digits[zero] == '0') digits.erase(zero, 1);  // of two digits at least
  return digits;
}

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  EK_ASSERT(low < high && wanted > 0);
  const double step = nice_step(low, high, wanted);
  const double largest = std::max(std::abs(low), std::abs(high));
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - kSlack), last = std::floor(high / step + kSlack);
  const auto count = static_cast<int>(last - first) + 1;
  for (int i = 0; i < count; ++i) {
    const double at = (first + i) * step;
    ticks.push_back({at, axis_label(at, step, largest)});
  }
  return ticks;
}

std::vector<Tick> logarithmic_ticks(double low, double high, int wanted) {
  EK_ASSERT(0 < low && low < high && wanted > 0);
  constexpr std::size_t kFewest = 3;
  std::vector<double> at;
  for (const auto& multiples : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
    at = multiples_of_powers(low, high, multiples, 1);
    if (at.size() <= static_cast<std::size_t>(wanted) + 1) break;
  }
  if (at.size() < kFewest) return linear_ticks(low, high, wanted);
  const int decades = static_cast<int>(std::ceil(std::log10(high) - std::log10(low)));
  if (decades > wanted) at = multiples_of_powers(low, high, {1}, (decades + wanted - 1) / wanted);
  std::vector<Tick> ticks;
  for (const double value : at) {
    const auto unit = unit_of(value);
    ticks.push_back({value, short_number(value / unit.size) + unit.letter});
  }
  return ticks;
}

Axis linear_axis(double low, double high, int wanted) {
  low = std::clamp(low, -kLargestEnd, kLargestEnd);
  high = std::clamp(high, -kLargestEnd, kLargestEnd);
  if (is_one_value(low, high)) {
    const double reach = std::abs(low) <= kSmallestEnd ? 1 : std::abs(low) / 2;
    low -= reach;
    high += reach;
  }
  return {low, high, false, linear_ticks(low, high, wanted)};
}

Axis logarithmic_axis(double low, double high, int wanted) {
  low = std::clamp(low, kSmallestEnd, kLargestEnd);
  high = std::clamp(high, kSmallestEnd, kLargestEnd);
  if (is_one_value(low, high)) {
    low /= 2;
    high *= 2;
  }
  return {low, high, true, logarithmic_ticks(low, high, wanted)};
}

}  // namespace evenkeel::report
