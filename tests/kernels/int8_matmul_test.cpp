// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/int8_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "evenkeel/kernels/cpu/avx2/int8_matmul_avx2.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/int8_matmul_avx512.h"
#include "evenkeel/kernels/cpu/common/isa_versions.h"

namespace evenkeel::kernels::cpu {
namespace {

template <typename I>
std::vector<I> random_integers(std::int64_t count, int largest, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> uniform(-largest, largest);
  std::vector<I> values(static_cast<std::size_t>(count));
  for (auto& each : values) each = static_cast<I>(uniform(engine));
  return values;
}

/// Operands whose rows are random, or all the largest values.
template <typename T>
struct Product {
  Product(std::int64_t rows_of_x, std::int64_t columns_of_y, std::int64_t depth_of_x,
          bool is_largest = false)
      : rows(rows_of_x), columns(columns_of_y), depth(depth_of_x) {
    x = random_integers<std::int16_t>(rows * depth, 32767, 1);
    w = random_integers<std::int8_t>(columns * (depth + 3), 127, 2);
    if (is_largest) x.assign(x.size(), 32767), w.assign(w.size(), -127);
    for (std::int64_t i = 0; i < rows; ++i) x_scale.push_back(0.25F * static_cast<float>(i + 1));
    for (std::int64_t j = 0; j < columns; ++j)
      w_scale.push_back(0.001F * static_cast<float>(j + 1));
  }

  Int8Matmul<T> operands(std::vector<T>& y) const {
    return {.x = x.data(),
            .x_scale = x_scale.data(),
            .w = w.data(),
            .w_scale = w_scale.data(),
            .y = y.data(),
            .rows = rows,
            .depth = depth,
            .w_stride = depth + 3,
            .y_stride = columns + 2};
  }

  /// Rows of y are columns + 2 apart; -7 where nothing is written.
  std::vector<T> empty() const {
    std::vector<T> y(static_cast<std::size_t>(rows * (columns + 2)));
    for (auto& each : y) store(&each, -7);
    return y;
  }

  std::vector<T> formula() const {
    auto y = empty();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          sum += std::int64_t{x[static_cast<std::size_t>(i * depth + k)]} *
                 w[static_cast<std::size_t>(j * (depth + 3) + k)];
        }
        const double scale = static_cast<double>(x_scale[static_cast<std::size_t>(i)]) *
                             static_cast<double>(w_scale[static_cast<std::size_t>(j)]);
        store(&y[static_cast<std::size_t>(i * (columns + 2) + j)],
              static_cast<double>(sum) * scale);
      }
    }
    return y;
  }

  std::int64_t rows, columns, depth;
  std::vector<std::int16_t> x;
  std::vector<std::int8_t> w;
  std::vector<float> x_scale, w_scale;
};

template <typename T>
void expect_equal_bits(const std::vector<T>& a, const std::vector<T>& b, const Product<T>& of) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0)
      << of.rows << " x " << of.columns << " over " << of.depth;
}

template <typename T>
void expect_formula(const Product<T>& product) {
  const auto exact = product.formula();
  const auto split = product.columns / 3;
  const auto expect_equal = [&](const auto& multiply) {
    auto y = product.empty();
    multiply(product.operands(y), 0, split);
    multiply(product.operands(y), split, product.columns);
    expect_equal_bits(y, exact, product);
  };
  expect_equal(int8_matmul_portable<T>);
  if (vector_bytes() >= 32) expect_equal(int8_matmul_avx2<T>);
  if (has_avx512_vnni()) expect_equal(int8_matmul_avx512<T>);
}

template <typename T>
class Int8MatmulOf : public ::testing::Test {};
using Int8Types = ::testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Int8MatmulOf, Int8Types);

TYPED_TEST(Int8MatmulOf, HasTheBitsOfItsFormula) {
  for (const std::int64_t depth : {1, 31, 32, 33, 511, 512, 513, 1000, 4096, 4130, 8192, 8200}) {
    for (const std::int64_t columns : {1, 3, 4, 9}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 17}) {
        expect_formula(Product<TypeParam>(rows, columns, depth));
      }
    }
  }
}

TYPED_TEST(Int8MatmulOf, SumsMoreThan32Bits) {
  for (const std::int64_t depth : {512, 8192, 20000}) {
    expect_formula(Product<TypeParam>(5, 6, depth, /*is_largest=*/true));
  }
}

TYPED_TEST(Int8MatmulOf, QuantizesToTheNearestInteger) {
  using T = TypeParam;
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  std::vector<T> row(1000);
  for (auto& each : row) store(&each, 1e-3 * normal(engine));
  store(&row[17], -0.5);
  std::vector<std::int16_t> to(row.size());
  const double scale =
      static_cast<double>(quantize_to_int16(row.data(), std::ssize(row), to.data()));
  EXPECT_EQ(static_cast<float>(scale), 0.5F / 32767);
  EXPECT_EQ(to[17], -32767);
  for (std::size_t k = 0; k < row.size(); ++k) {
    ASSERT_NEAR(to[k] * scale, load(&row[k]), 0.5001 * scale) << k;
  }
}

TYPED_TEST(Int8MatmulOf, ScalesRowsThatAreZeroOrNotFinite) {
  using T = TypeParam;
  std::vector<T> row(40);
  for (auto& each : row) store(&each, 0);
  std::vector<std::int16_t> to(row.size(), 5);
  EXPECT_EQ(quantize_to_int16(row.data(), std::ssize(row), to.data()), 0);
  EXPECT_EQ(to, std::vector<std::int16_t>(row.size(), 0));
  for (const double value : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    store(&row[33], value);
    EXPECT_TRUE(std::isnan(quantize_to_int16(row.data(), std::ssize(row), to.data()))) << value;
    EXPECT_EQ(to, std::vector<std::int16_t>(row.size(), 0));
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
