// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// Norms of rows in long double, by their equations: 11 bits and a range of 1e4932 beyond double,
// so that nothing overflows, vanishes or cancels where a double would.
namespace evenkeel::testing {

using Wide = long double;
using Values = std::vector<Wide>;

/// A true value, the size of what cancels on the way to it in double arithmetic, the sum of the
/// sizes of the terms that are added up last, and the largest value of its row.
struct ReferenceValue {
  Wide value = 0;
  Wide error_scale = 0;
  Wide terms = 0;
  Wide row = 0;

  void add(Wide term, Wide size) { add(term, size, std::abs(term)); }
  void add(Wide term, Wide size, Wide parts) {
    value += term;
    error_scale += size;
    terms += parts;
  }
};
using ReferenceValues = std::vector<ReferenceValue>;

/// How a row becomes x_hat = (x - c) rho(s): c the mean, if centred; s the mean or the sum of
/// (x - c)^2 over the first max(1, int(partial D)) values.
struct Statistic {
  enum class At { inside, outside, clamp };
  bool centred = false;
  bool sum = false;
  double partial = 1;
  double epsilon = 1e-5;
  At at = At::inside;
};

/// A row with its statistic.
struct NormedRow {
  Values centred, x_hat;
  Wide rho = 0, slope = 0;  // d rho / d s
  Wide divisor = 1;
  std::size_t measured = 0;
  Wide error = 0;  // of x_hat, in units of double rounding
};

inline NormedRow normed(const Values& x, const Statistic& by) {
  NormedRow row;
  const auto width = static_cast<Wide>(x.size());
  Wide mean = 0, largest = 0;
  for (const auto value : x) mean += value / width;
  if (!by.centred) mean = 0;
  // Equal values have no deviation, whatever the rounding of their mean.
  const bool equal = std::all_of(x.begin(), x.end(), [&](Wide value) { return value == x[0]; });
  for (const auto value : x) {
    row.centred.push_back(by.centred && equal ? 0 : value - mean);
    largest = std::max(largest, std::abs(value));
  }
  const auto part = static_cast<std::size_t>(by.partial * static_cast<double>(x.size()));
  row.measured = std::max<std::size_t>(1, part);
  row.divisor = by.sum ? 1 : static_cast<Wide>(row.measured);
  Wide s = 0;
  for (std::size_t i = 0; i < row.measured; ++i) s += row.centred[i] * row.centred[i] / row.divisor;

  const Wide e = by.epsilon;
  const Wide root = std::sqrt(s);
  if (by.at == Statistic::At::inside) {
    row.rho = s + e == 0 ? 0 : 1 / std::sqrt(s + e);
    row.slope = -row.rho * row.rho * row.rho / 2;
  } else if (by.at == Statistic::At::outside) {
    row.rho = 1 / (root + e);
    row.slope = s == 0 ? 0 : -row.rho * row.rho / (2 * root);
  } else {
    row.rho = 1 / std::max(root, e);
    row.slope = root <= e ? 0 : -row.rho * row.rho * row.rho / 2;
  }
  for (const auto value : row.centred) row.x_hat.push_back(value * row.rho);
  row.error = by.centred && equal ? 0 : largest * row.rho;
  return row;
}

/// dx for the gradient g of x_hat:
///   dc_j = rho g_j + (j is measured) 2 rho'(s) c_j / divisor * sum(g c);   dx = dc - mean(dc)
/// \param centred   subtracts mean(dc)
/// \param measured  adds the second term: the gradient flows through s
inline ReferenceValues gradient_of(const NormedRow& row, const Values& g, bool centred,
                                   bool measured = true) {
  const auto width = static_cast<Wide>(g.size());
  Wide sum_g_centred = 0, sum_abs_g = 0, largest = 0, sum_g_x_hat = 0, largest_x_hat = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    sum_g_centred += g[i] * row.centred[i];
    sum_abs_g += std::abs(g[i]);
    largest = std::max(largest, std::abs(g[i]));
    sum_g_x_hat += std::abs(g[i] * row.x_hat[i]);
    largest_x_hat = std::max(largest_x_hat, std::abs(row.x_hat[i]));
  }
  const Wide error_scale =
      row.rho * (largest + largest_x_hat * sum_g_x_hat / row.divisor +
                 row.error * (sum_g_x_hat + largest_x_hat * sum_abs_g) / row.divisor);
  ReferenceValues dx;
  Wide mean = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Wide statistic_term = measured && i < row.measured
                                    ? 2 * row.slope * row.centred[i] / row.divisor * sum_g_centred
                                    : Wide{0};
    dx.push_back({row.rho * g[i] + statistic_term, error_scale,
                  std::abs(row.rho * g[i]) + std::abs(statistic_term)});
    mean += dx.back().value / width;
  }
  Wide most = 0;
  for (auto& each : dx) {
    if (centred) each.add(-mean, 0);
    most = std::max(most, std::abs(each.value));
  }
  for (auto& each : dx) each.row = most;
  return dx;
}

inline Values values_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const auto wide = tensor.detach().to(at::kDouble).contiguous();
  const auto* const first = wide.const_data_ptr<double>();
  return {first, first + wide.numel()};
}

/// What rms_norm and layer_norm do to each value in float32: x_hat, the gain, the bias; backward
/// some more.
inline int roundings_forward(at::ScalarType dtype) {
  return dtype == at::kDouble ? 0 : 4;
}
inline int roundings_backward(at::ScalarType dtype) {
  return dtype == at::kDouble ? 0 : 8;
}

/// Double's last place, times some sums over a row.
inline constexpr Wide kDoubleError = 0x1p-47L;

/// Passes if every value is the true one rounded once to the dtype: off by half the distance of
/// neighbours there, and by what the arithmetic before cannot know: a part of the error scale. A
/// true value beyond the dtype's range may be anything; every other one must be finite.
/// \param roundings  to float32 on the way: each may cost half a unit in the last place, of the
///                   terms or of the row's largest true value
inline ::testing::AssertionResult correctly_rounded(const at::Tensor& actual,
                                                    const ReferenceValues& expected,
                                                    Wide unknown = kDoubleError,
                                                    int roundings = 0) {
  constexpr Wide kTwice = 1.001L;  // double -> float -> bfloat16
  const auto dtype = actual.scalar_type();
  const int bits = dtype == at::kBFloat16 ? 7 : dtype == at::kFloat ? 23 : 52;
  const int lowest = dtype == at::kDouble ? -1022 : -126;
  const Wide largest = dtype == at::kDouble     ? std::numeric_limits<double>::max()
                       : dtype == at::kBFloat16 ? 0x1.FEp127L
                                                : std::numeric_limits<float>::max();
  const auto found = values_of(actual);
  if (found.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << "has " << found.size() << " values, not " << expected.size();
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [value, error_scale, terms, row] = expected[i];
    if (std::abs(value) > largest) continue;
    const int power = value == 0 ? lowest : std::max(lowest, std::ilogb(value));
    const Wide intermediate_error =
        roundings * std::max(0x1p-24L * std::max(terms, row), 0x1p-150L);
    const Wide allowed =
        kTwice * std::ldexp(Wide{0.5}, power - bits) + unknown * error_scale + intermediate_error;
    if (std::abs(found[i] - value) <= allowed) continue;
    return ::testing::AssertionFailure()
           << "value " << i << ": " << static_cast<double>(found[i]) << ", expected "
           << static_cast<double>(value) << " within " << static_cast<double>(allowed);
  }
  return ::testing::AssertionSuccess();
}

/// Rows that ordinary float arithmetic gets wrong. [rows, width], rounded to `dtype`; their number
/// is a multiple of 8.
inline at::Tensor extreme_rows(std::int64_t width, at::ScalarType dtype) {
  const auto normal = [&] { return at::randn({1, width}, at::kDouble); };
  const auto signs =
      at::where(at::arange(width).remainder(2) == 0, 1.0, -1.0).to(at::kDouble).unsqueeze(0);
  constexpr double kLargest = 0x1.FEp127;  // of bfloat16, and nearly of float
  auto one_hot = at::zeros({1, width}, at::kDouble);
  one_hot[0][width / 2] = 1;
  std::vector<at::Tensor> rows = {at::zeros({1, width}, at::kDouble), one_hot, kLargest * one_hot,
                                  kLargest * signs, 1 + 1e30 * one_hot};
  for (const double value : {1e-30, -1e-10, 0.1, 1234.0, -1e10, 1e19, 1e30, kLargest}) {
    rows.push_back(at::full({1, width}, value, at::kDouble));
  }
  for (int k = 0; k <= 7; ++k) rows.push_back(std::pow(10.0, k) + 1e-3 * normal());
  for (int k = -45; k <= 38; k += k < 0 ? 3 : 2) rows.push_back(std::pow(10.0, k) * normal());
  while (rows.size() % 8 != 0) rows.push_back(normal());
  return at::cat(rows).clamp(-kLargest, kLargest).to(at::kFloat).to(dtype);
}

inline const std::vector<std::int64_t>& extreme_widths() {
  static const std::vector<std::int64_t> widths = {1,  2,  3,  4,  5,  7,   8,   9,
                                                   15, 17, 31, 33, 63, 127, 129, 257};
  return widths;
}

}  // namespace evenkeel::testing
