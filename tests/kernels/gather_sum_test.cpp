// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/gather_sum.h"

#include <gtest/gtest.h>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::wavy;

/// One value a row.
float sum_in_order(const std::vector<float>& rows, const std::vector<std::int64_t>& index) {
  float sum = -1;
  gather_sum(rows.data(), index.data(), static_cast<std::int64_t>(index.size()), &sum, 1);
  return sum;
}

// 2^24 + 1 is rounded to the even 2^24, so the sum shows the order of additions.
TEST(GatherSum, AddsInTheOrderOfItsIndices) {
  const std::vector<float> rows = {1, 0x1p24F, -0x1p24F};
  EXPECT_EQ(sum_in_order(rows, {0, 1, 2}), 0);
  EXPECT_EQ(sum_in_order(rows, {1, 2, 0}), 1);
  EXPECT_EQ(sum_in_order(rows, {0, 0, 0}), 3);
}

TEST(GatherSum, RoundsBfloat16Once) {
  Bf16 one{0x3f80};
  const std::vector<std::int64_t> index(2048, 0);
  Bf16 sum{};
  gather_sum(&one, index.data(), 2048, &sum, 1);
  EXPECT_EQ(load(&sum), 2048);
}

// 257 is rounded to the even 256.
TEST(GatherSum, RoundsFewRowsOfBfloat16Once) {
  const Bf16 rows[2] = {{0x4380}, {0x3f80}};  // 256, 1
  const std::vector<std::int64_t> index = {0, 1, 1};
  Bf16 sum{};
  gather_sum(rows, index.data(), 3, &sum, 1);
  EXPECT_EQ(load(&sum), 258);
}

// Up to eight rows are read side by side.
TEST(GatherSum, CoversEveryWidthAndCount) {
  for (const std::size_t width : {1, 7, 255, 256, 257, 600}) {
    const auto rows = wavy<double>(3 * width, 0.2);
    for (std::size_t count = 0; count <= 10; ++count) {
      for (const bool is_added : {false, true}) {
        std::vector<std::int64_t> index;
        std::vector<double> expected(width, 0.0), to(width + 1, -1);
        for (std::size_t i = 0; i < count; ++i) {
          index.push_back(static_cast<std::int64_t>((2 * i + 2) % 3));
          const auto first = static_cast<std::size_t>(index.back()) * width;
          for (std::size_t j = 0; j < width; ++j) expected[j] += rows[first + j];
        }
        for (auto& value : expected) value += is_added ? -1 : 0;
        gather_sum(rows.data(), index.data(), static_cast<std::int64_t>(count), to.data(),
                   static_cast<std::int64_t>(width), is_added);
        for (std::size_t j = 0; j < width; ++j) EXPECT_EQ(to[j], expected[j]) << count;
        EXPECT_EQ(to[width], -1) << "beyond the row";
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
