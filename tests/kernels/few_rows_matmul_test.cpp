// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#if !defined(EK_VECTOR_BYTES)
#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/amx/few_rows_matmul_amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/few_rows_matmul_avx512.h"
#endif

namespace evenkeel::kernels::cpu {
namespace {

/// few_rows_matmul() of T.
template <typename Value>
struct Portable {
  using T = Value;
  using X = float;
  static constexpr bool kIsHere = true;
  static constexpr std::int64_t kSums = 16;  // of which a value is the total
  static void copy_row(const T* row, std::int64_t depth, X* to) {
    few_rows_operand(row, depth, to);
  }
  static void multiply(const FewRowsMatmul<T>& in, std::int64_t begin, std::int64_t end) {
    few_rows_matmul(in, begin, end);
  }
};

#if !defined(EK_VECTOR_BYTES)
struct Avx512Bf16 {
  using T = Bf16;
  using X = Bf16;
  static inline const bool kIsHere = has_avx512_bf16();
  static constexpr std::int64_t kSums = 16;
  static void copy_row(const T* row, std::int64_t depth, X* to) { std::copy_n(row, depth, to); }
  static void multiply(const FewRowsMatmul<T, X>& in, std::int64_t begin, std::int64_t end) {
    few_rows_matmul_avx512(in, begin, end);
  }
};

struct AmxTiles : Avx512Bf16 {  // the same rows
  static inline const bool kIsHere = has_amx();
  static constexpr std::int64_t kSums = 1;
  static void multiply(const FewRowsMatmul<T, X>& in, std::int64_t begin, std::int64_t end) {
    std::vector<std::uint32_t> pairs(
        static_cast<std::size_t>(few_rows_amx_pairs(in.rows, in.depth)));
    few_rows_amx_operand(in.x, in.rows, in.depth, pairs.data());
    few_rows_matmul_amx({.x = pairs.data(),
                         .w = in.w,
                         .y = in.y,
                         .rows = in.rows,
                         .depth = in.depth,
                         .w_stride = in.w_stride,
                         .y_stride = in.y_stride},
                        begin, end);
  }
};
#endif

template <typename Kernel>
class FewRowsMatmulBy : public ::testing::Test {
 protected:
  using T = typename Kernel::T;

  void SetUp() override {
    if (!Kernel::kIsHere) GTEST_SKIP() << "this processor has no such instructions of bfloat16";
  }

  /// Rows `stride` apart, of which `width` are random and the rest a value that spoils every sum.
  static std::vector<T> random_rows(std::int64_t rows, std::int64_t width, std::int64_t stride,
                                    unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<T> values(static_cast<std::size_t>(rows * stride));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_inside = static_cast<std::int64_t>(i) % stride < width;
      store(&values[i], is_inside ? normal(engine) : std::nan(""));
    }
    return values;
  }

  /// x w^T in columns of y whose rows are columns + 3 apart; -7 where nothing is written.
  /// \param split  the columns before and after it are computed apart
  static std::vector<T> product(const std::vector<T>& x, const std::vector<T>& w, std::int64_t rows,
                                std::int64_t columns, std::int64_t depth, std::int64_t split) {
    std::vector<typename Kernel::X> operand(static_cast<std::size_t>(rows * depth));
    for (std::int64_t row = 0; row < rows; ++row) {
      Kernel::copy_row(&x[static_cast<std::size_t>(row * depth)], depth,
                       &operand[static_cast<std::size_t>(row * depth)]);
    }
    std::vector<T> y(static_cast<std::size_t>(rows * (columns + 3)));
    for (auto& value : y) store(&value, -7);
    const FewRowsMatmul<T, typename Kernel::X> in{.x = operand.data(),
                                                  .w = w.data(),
                                                  .y = y.data(),
                                                  .rows = rows,
                                                  .depth = depth,
                                                  .w_stride = depth + 5,
                                                  .y_stride = columns + 3};
    Kernel::multiply(in, 0, split);
    Kernel::multiply(in, split, columns);
    return y;
  }
};

#if defined(EK_VECTOR_BYTES)
using FewRowsKernels = ::testing::Types<Portable<float>, Portable<Bf16>>;
#else
using FewRowsKernels = ::testing::Types<Portable<float>, Portable<Bf16>, Avx512Bf16, AmxTiles>;
#endif
TYPED_TEST_SUITE(FewRowsMatmulBy, FewRowsKernels);

TYPED_TEST(FewRowsMatmulBy, IsItsFormulaForEverySize) {
  const double rounding = sizeof(typename TypeParam::T) == 2 ? 0x1p-8 : 0x1p-24;
  for (const std::int64_t depth : {1, 15, 16, 17, 48, 1000}) {
    for (const std::int64_t columns : {1, 2, 3, 4, 7, 33}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 8, 11, 13, 16, 29}) {
        const auto x = this->random_rows(rows, depth, depth, 1);
        const auto w = this->random_rows(columns, depth, depth + 5, 2);
        const auto y = this->product(x, w, rows, columns, depth, columns / 3);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns + 3; ++j) {
            const double found = load(&y[static_cast<std::size_t>(i * (columns + 3) + j)]);
            if (j >= columns) {
              ASSERT_EQ(found, -7) << "behind row " << i;
              continue;
            }
            double exact = 0, size = 0;
            for (std::int64_t k = 0; k < depth; ++k) {
              const double term = load(&x[static_cast<std::size_t>(i * depth + k)]) *
                                  load(&w[static_cast<std::size_t>(j * (depth + 5) + k)]);
              exact += term, size += std::abs(term);
            }
            // Each sum has some of the terms, and a tree adds them.
            const auto terms = depth / TypeParam::kSums + TypeParam::kSums + 4;
            const double sums = static_cast<double>(terms) * 0x1p-24 * size;
            ASSERT_NEAR(found, exact, rounding * std::abs(exact) + sums)
                << i << ", " << j << " of " << rows << " x " << columns << " over " << depth;
          }
        }
      }
    }
  }
}

TYPED_TEST(FewRowsMatmulBy, RowsAndColumnsDoNotDependOnOthers) {
  constexpr std::int64_t kRows = 19, kColumns = 41;
  for (std::int64_t depth = 128; depth < 161; ++depth) {
    const auto x = this->random_rows(kRows, depth, depth, 3);
    const auto w = this->random_rows(kColumns, depth, depth + 5, 4);
    const auto together = this->product(x, w, kRows, kColumns, depth, 0);
    const auto expect_equal = [](const auto& a, const auto& b, std::size_t from,
                                 std::size_t count) {
      EXPECT_EQ(std::memcmp(&a[from], &b[0], count * sizeof(b[0])), 0);
    };
    for (std::int64_t split = 1; split < kColumns; ++split) {
      expect_equal(together, this->product(x, w, kRows, kColumns, depth, split), 0,
                   together.size());
    }
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto begin = x.begin() + i * depth;
      const auto alone = this->product({begin, begin + depth}, w, 1, kColumns, depth, 5);
      expect_equal(together, alone, static_cast<std::size_t>(i) * alone.size(), alone.size());
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
