// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/kernel_cases.h"

#include <gtest/gtest.h>

namespace evenkeel::bench {
namespace {

std::vector<KernelCase> adamw_cases(const KernelOptions& options) {
  auto cases = kernel_cases(options);
  std::erase_if(cases, [](const KernelCase& each) { return each.op != "adamw"; });
  return cases;
}

TEST(KernelCases, UpdateTwentyMillionParametersByDefault) {
  const auto cases = adamw_cases({});
  ASSERT_EQ(cases.size(), 2U);
  for (const auto& each : cases) {
    EXPECT_EQ(each.bytes, 28 * 20e6);
    EXPECT_EQ(each.shape, "20M parameters");
  }
  EXPECT_EQ(cases[0].dtype, "float32");
  EXPECT_EQ(cases[1].dtype, "bfloat16");
}

TEST(KernelCases, TakeTheSizesOfTheirOptions) {
  EXPECT_EQ(adamw_cases({.parameters = 1'000'000}).front().bytes, 28 * 1e6);
}

}  // namespace
}  // namespace evenkeel::bench
