// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::testing {

/// `width` values between -1 and 1 without a pattern, times `scale`, rounded to T.
template <typename T>
std::vector<T> wavy(std::size_t width, double phase, double scale = 1) {
  std::vector<T> values(width);
  for (std::size_t i = 0; i < width; ++i) {
    kernels::cpu::store(&values[i], scale * std::sin(phase + 1.7 * static_cast<double>(i * i)));
  }
  return values;
}

/// The values in double, without rounding.
template <typename T>
std::vector<double> exact(const std::vector<T>& values) {
  std::vector<double> wide;
  for (const T& value : values) wide.push_back(kernels::cpu::load(&value));
  return wide;
}

/// Row `row` of rows of `width` values.
template <typename T>
std::vector<T> row_of(const std::vector<T>& all, std::size_t row, std::size_t width) {
  const auto first = all.cbegin() + static_cast<std::ptrdiff_t>(row * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

/// Half the distance between neighbours of T at 1: what one rounding costs at most, relatively.
template <typename T>
constexpr double kRounding = 0x1p-53;
template <>
inline constexpr double kRounding<float> = 0x1p-24;
template <>
inline constexpr double kRounding<kernels::cpu::Bf16> = 0x1p-8;

/// What a row costs more whose values are multiplied in float32, relatively to its terms.
template <typename T>
constexpr double kInFloat = std::is_same_v<T, double> ? 0 : 8 * 0x1p-24;

/// Passes if each value is the true one but for a rounding to T, and some to float32, of the row's
/// largest. \param size  of what cancels on the way in double
template <typename T>
::testing::AssertionResult is_row(const std::vector<T>& actual, const std::vector<double>& truth,
                                  double size) {
  double largest = 0;
  for (const double value : truth) largest = std::max(largest, std::abs(value));
  const double bound = (kRounding<T> + kInFloat<T>)*largest + 8 * 0x1p-53 * size;
  const auto values = exact(actual);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (std::abs(values[i] - truth[i]) <= bound) continue;
    return ::testing::AssertionFailure() << "value " << i << ": " << values[i] << ", expected "
                                         << truth[i] << " within " << bound;
  }
  return ::testing::AssertionSuccess();
}

/// Passes if no value is further than `slack` from the true one.
inline ::testing::AssertionResult is_near(const std::vector<double>& actual,
                                          const std::vector<double>& truth, double slack) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (std::abs(actual[i] - truth[i]) <= slack) continue;
    return ::testing::AssertionFailure() << "value " << i << ": " << actual[i] << ", expected "
                                         << truth[i] << " within " << slack;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace evenkeel::testing
