// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda_emulated/launch.h"
#include "kernels/cuda_emulated/refusals_of_values.h"

namespace evenkeel::testing {
namespace {

TEST(CudaKernels, StayInMemoryWhateverTheIndices) {
  for (const auto& [on_cpu, call] : refusals_of_values()) {
    const auto message = message_of(call);
    EXPECT_EQ(message.find("CUDA error"), message.npos)
        << "where the CPU reports " << on_cpu << ", the kernel fails: " << message;
  }
}

/// Runs after all tests of operators: what they have launched.
class EveryKernel : public ::testing::Environment {
 public:
  void TearDown() override {
    const auto& run = *::testing::UnitTest::GetInstance();
    const bool is_part = run.test_to_run_count() != run.total_test_count();  // --gtest_filter
    if (is_part || std::getenv("EVENKEEL_NOT_EMULATED") != nullptr) return;
    std::vector<emulated::KernelName> never;
    std::ranges::set_difference(emulated::defined_kernels(), emulated::launched_kernels(),
                                std::back_inserter(never));
    for (const auto& [file, kernel] : never) {
      ADD_FAILURE() << "no test launches the kernel " << kernel << " of " << file;
    }
  }
};
const auto* const kEveryKernel = ::testing::AddGlobalTestEnvironment(new EveryKernel);

}  // namespace
}  // namespace evenkeel::testing
