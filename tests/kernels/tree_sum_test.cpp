// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/tree_sum.h"

#include <gtest/gtest.h>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::wavy;

template <typename T>
std::vector<const T*> pointers_to(const std::vector<std::vector<T>>& rows) {
  std::vector<const T*> pointers;
  for (const auto& row : rows) pointers.push_back(row.data());
  return pointers;
}

/// One value per row; the tree of reduction_order.h, level by level.
float tree_of(std::vector<float> values) {
  for (std::size_t stride = 1; stride < values.size(); stride *= 2) {
    for (std::size_t i = 0; i + stride < values.size(); i += 2 * stride)
      values[i] += values[i + stride];
  }
  return values.front();
}

// ((0 + 1) + (2 + 3)) + 4: adding 1 to 2^53 has no effect, so the sum shows the order of additions.
TEST(SumOfRows, AddsNeighboursFirst) {
  const std::vector<std::vector<double>> rows{{1}, {0x1p53}, {1}, {-0x1p53}, {0.5}};
  double sum = 0;
  sum_of_rows(pointers_to(rows), 1, &sum);
  EXPECT_EQ(sum, 1.5);
}

TEST(SumOfRows, IsTheTreeToTheBitForEachNumberOfRows) {
  constexpr std::size_t kColumns = 1300;  // more than two blocks of columns
  for (std::size_t count = 1; count <= 17; ++count) {
    std::vector<std::vector<float>> rows;
    for (std::size_t row = 0; row < count; ++row)
      rows.push_back(wavy<float>(kColumns, 0.1F * static_cast<float>(row + 1)));
    std::vector<float> sum(kColumns);
    sum_of_rows(pointers_to(rows), kColumns, sum.data());
    for (std::size_t i = 0; i < kColumns; ++i) {
      std::vector<float> column;
      for (const auto& row : rows) column.push_back(row[i]);
      ASSERT_EQ(sum[i], tree_of(column)) << count << " rows, column " << i;
    }
  }
}

TEST(SumOfRows, MayReplaceOneOfTheRows) {
  for (const std::size_t replaced : {0U, 1U, 2U}) {
    std::vector<std::vector<float>> rows;
    for (const float value : {1.0F, 2.0F, 4.0F}) rows.emplace_back(700, value);
    sum_of_rows(pointers_to(rows), 700, rows[replaced].data());
    EXPECT_EQ(rows[replaced], std::vector<float>(700, 7.0F));
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
