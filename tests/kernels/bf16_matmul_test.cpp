// SPDX-License-Identifier: Apache-2.0
// Products of our own in AMX tiles, and with the dot products of AVX-512, against loops in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/amx/bf16_product_amx.h"
#include "evenkeel/kernels/cpu/amx/weight_gradient_amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/bf16_product_avx512.h"
#include "evenkeel/kernels/cpu/avx512/weight_gradient_avx512.h"
#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::kRounding;
using testing::wavy;

struct alignas(64) Line {
  char bytes[64];
};
std::vector<Line> scratch_of(std::int64_t bytes) {
  return std::vector<Line>(static_cast<std::size_t>(bytes + 63) / 64);
}

/// A matrix with unused values after each row (leading dimension > columns).
struct Matrix {
  Matrix(std::int64_t rows_, std::int64_t columns_, double phase, std::int64_t room = 5)
      : rows(rows_),
        columns(columns_),
        stride(columns_ + room),
        values(wavy<Bf16>(static_cast<std::size_t>(rows_ * stride), phase)) {}
  double at(std::int64_t i, std::int64_t j) const {
    return load(&values[static_cast<std::size_t>(i * stride + j)]);
  }
  std::int64_t rows, columns, stride;
  std::vector<Bf16> values;
};

/// What float32 sums of `sizes`, the sum of the sizes of the terms, may be off.
double slack(double sizes, std::int64_t terms) {
  return static_cast<double>(terms) * 0x1p-24 * sizes;
}

void expect_product(const Matrix& x, const Matrix& w, bool no_transpose, const Matrix& y) {
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.columns; ++j) {
      double sum = 0, sizes = 0;
      for (std::int64_t k = 0; k < x.columns; ++k) {
        const double term = x.at(i, k) * (no_transpose ? w.at(k, j) : w.at(j, k));
        sum += term, sizes += std::abs(term);
      }
      const double allowed = kRounding<Bf16> * std::abs(sum) + slack(sizes, x.columns);
      ASSERT_NEAR(y.at(i, j), sum, allowed)
          << i << ", " << j << " of " << y.rows << " x " << y.columns << " over " << x.columns;
    }
  }
}

struct Sizes {
  std::int64_t count, depth, width;
};

/// The instructions that compute a Bf16Product.
enum class Instructions { dot_products, tiles };

class Bf16Matmul : public ::testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override {
    const bool is_there = uses_tiles() ? has_amx() : has_avx512_bf16();
    if (!is_there) GTEST_SKIP() << "this processor does not have these instructions of bfloat16";
  }

  static bool uses_tiles() { return GetParam() == Instructions::tiles; }

  static Bf16Product product_of(const Matrix& x, const Matrix& w, bool no_transpose, Matrix& y) {
    return {.x = x.values.data(),
            .w = w.values.data(),
            .y = y.values.data(),
            .x_stride = x.stride,
            .w_stride = w.stride,
            .y_stride = y.stride,
            .rows = x.rows,
            .depth = x.columns,
            .columns = y.columns,
            .is_transposed = !no_transpose};
  }

  static void pack(const Bf16Product& block, std::int64_t panel, std::uint32_t* pairs) {
    if (uses_tiles()) return pack_panels_amx(block, {panel, panel + 1}, pairs);
    pack_panel(block, panel, pairs);
  }

  static void multiply_part(const Bf16Product& block, const std::uint32_t* pairs,
                            const ProductRange& rows, const ProductRange& panels) {
    if (!uses_tiles()) return multiply_panels(block, pairs, rows, panels);
    auto scratch = scratch_of(amx_product_scratch(block, rows.last - rows.first));
    multiply_panels_amx(block, pairs, rows, panels, scratch.data());
  }

  /// Computes y in blocks of `most` terms, in parts of `rows` rows and two panels.
  static void multiply(const Bf16Product& whole, std::int64_t most, std::int64_t rows) {
    auto block = whole;
    const auto room = (whole.rows + kAmxProductRows - 1) / kAmxProductRows * kAmxProductRows;
    std::vector<float> sums(static_cast<std::size_t>(room * whole.panels() * Bf16Product::kPanel),
                            std::nanf(""));
    if (most < whole.depth) block.sums = sums.data();
    for (std::int64_t first = 0; first < whole.depth; first += most) {
      block.x = whole.x + first;
      block.w = whole.w + first * (whole.is_transposed ? 1 : whole.w_stride);
      block.depth = std::min(most, whole.depth - first);
      block.is_first = first == 0;
      block.is_last = first + block.depth == whole.depth;
      auto packed = scratch_of(4 * block.panels() * block.panel_pairs());
      auto* const pairs = reinterpret_cast<std::uint32_t*>(packed.data());
      for (auto panel = block.panels(); panel-- > 0;) pack(block, panel, pairs);
      for (std::int64_t row = 0; row < block.rows; row += rows) {
        for (std::int64_t panel = 0; panel < block.panels(); panel += 2) {
          multiply_part(block, pairs, {row, std::min(row + rows, block.rows)},
                        {panel, std::min(panel + 2, block.panels())});
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Of, Bf16Matmul,
                         ::testing::Values(Instructions::dot_products, Instructions::tiles),
                         [](const ::testing::TestParamInfo<Instructions>& each) {
                           return each.param == Instructions::tiles ? "Tiles" : "DotProducts";
                         });

TEST_P(Bf16Matmul, IsItsFormulaForEverySize) {
  for (const auto& [count, depth, width] :
       {Sizes{1, 1, 1}, Sizes{31, 33, 17}, Sizes{32, 64, 96}, Sizes{70, 41, 130},
        Sizes{19, 300, 64}, Sizes{100, 830, 70}}) {
    for (const bool no_transpose : {false, true}) {
      const Matrix x(count, depth, 0.1);
      const Matrix w = no_transpose ? Matrix(depth, width, 0.2) : Matrix(width, depth, 0.2);
      Matrix y(count, width, 0.3);
      const auto before = y;
      multiply(product_of(x, w, no_transpose, y), depth, count);
      expect_product(x, w, no_transpose, y);
      for (std::int64_t i = 0; i < count; ++i) {
        for (auto j = width; j < y.stride; ++j) {
          ASSERT_EQ(y.at(i, j), before.at(i, j)) << "behind row " << i;
        }
      }
      for (const std::int64_t most : {32, 416}) {  // the latter in two chunks of tiles
        Matrix in_parts(count, width, 0);
        multiply(product_of(x, w, no_transpose, in_parts), most, uses_tiles() ? 64 : 7);
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            ASSERT_EQ(in_parts.at(i, j), y.at(i, j)) << i << ", " << j << " over " << depth;
          }
        }
      }
    }
  }
}

TEST_P(Bf16Matmul, RowsDoNotDependOnOtherRows) {
  const Matrix x(67, 200, 0.1), w(50, 200, 0.2);
  Matrix together(67, 50, 0), alone(1, 50, 0);
  multiply(product_of(x, w, false, together), 200, 128);
  for (const std::int64_t i : {0, 1, 31, 32, 66}) {
    auto product = product_of(x, w, false, alone);
    product.x += i * x.stride;
    product.rows = 1;
    multiply(product, 200, 32);
    for (std::int64_t j = 0; j < 50; ++j) EXPECT_EQ(alone.at(0, j), together.at(i, j)) << i;
  }
}

TEST_P(Bf16Matmul, MayAddToY) {
  const Matrix x(21, 50, 0.1), w(40, 50, 0.2), before(21, 40, 0.3);
  for (const std::int64_t most : {50, 16}) {
    auto y = before;
    auto product = product_of(x, w, false, y);
    product.is_added = true;
    multiply(product, most, 32);
    for (std::int64_t i = 0; i < 21; ++i) {
      for (std::int64_t j = 0; j < 40; ++j) {
        double sum = before.at(i, j), sizes = std::abs(sum);
        for (std::int64_t k = 0; k < 50; ++k) {
          const double term = x.at(i, k) * w.at(j, k);
          sum += term, sizes += std::abs(term);
        }
        ASSERT_NEAR(y.at(i, j), sum, kRounding<Bf16> * std::abs(sum) + slack(sizes, 51));
      }
    }
  }
}

// Only whole lines of a cache may, others are written as ever.
TEST_P(Bf16Matmul, MayStorePastTheCaches) {
  const Matrix x(45, 64, 0.1, 0), w(100, 64, 0.2, 0);
  for (const std::int64_t room : {0, 1, 28}) {
    Matrix y(45, 100, 0, room);
    auto lines = scratch_of(45 * y.stride * 2);  // whole lines of a cache with 28
    auto product = product_of(x, w, false, y);
    multiply(product, 64, 64);
    expect_product(x, w, false, y);
    product.y = reinterpret_cast<Bf16*>(lines.data());
    product.non_temporal = true;
    multiply(product, 64, 64);
    for (std::int64_t i = 0; i < 45; ++i) {
      for (std::int64_t j = 0; j < 100; ++j) {
        ASSERT_EQ(load(product.y + i * y.stride + j), y.at(i, j)) << i << ", " << j;
      }
    }
  }
}

/// Expects 1/2 + g, then g, then g + g of the gradient g = dy^T x.
void expect_weight_gradient(const Sizes& sizes, void (*add)(const WeightGradient&, void*)) {
  const auto [count, rows, columns] = sizes;
  const Matrix dy(count, rows, 0.1), x(count, columns, 0.2);
  const auto stride = columns + 3;
  std::vector<float> sum(static_cast<std::size_t>(rows * stride), 0.5F);
  WeightGradient args = {.dy = dy.values.data(),
                         .x = x.values.data(),
                         .sum = sum.data(),
                         .dy_stride = dy.stride,
                         .x_stride = x.stride,
                         .sum_stride = stride,
                         .count = count,
                         .rows = rows,
                         .columns = columns};
  auto scratch = scratch_of(args.scratch());
  for (const double before : {0.5, 0.0, 1.0}) {
    args.is_first = before == 0;
    add(args, scratch.data());
    for (std::int64_t i = 0; i < rows; i += 13) {
      for (std::int64_t j = 0; j < stride; ++j) {
        const double found = sum[static_cast<std::size_t>(i * stride + j)];
        if (j >= columns) {
          ASSERT_EQ(found, 0.5) << "behind row " << i;
          continue;
        }
        double exact = 0, size = 1;
        for (std::int64_t k = 0; k < count; ++k) {
          const double term = dy.at(k, i) * x.at(k, j);
          exact += term, size += std::abs(term);
        }
        exact = before == 0.5 ? 0.5 + exact : (1 + before) * exact;
        ASSERT_NEAR(found, exact, 2 * slack(size, count)) << i << ", " << j << " over " << count;
      }
    }
  }
}

TEST(WeightGradientKernel, IsAddedForEverySize) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "this processor has no AVX-512 instructions of bfloat16";
  for (const auto& sizes : {Sizes{1, 1, 1}, Sizes{33, 17, 31}, Sizes{64, 96, 32},
                            Sizes{20, 530, 600}, Sizes{1100, 40, 70}, Sizes{520, 530, 600}}) {
    expect_weight_gradient(sizes, add_weight_gradient_avx512);
    if (has_amx()) expect_weight_gradient(sizes, add_weight_gradient_amx);
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
