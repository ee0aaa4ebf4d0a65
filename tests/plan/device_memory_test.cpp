// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/device_memory.h"

#include <gtest/gtest.h>

#include "evenkeel/ops/common/compute_device.h"

namespace evenkeel::plan {
namespace {

TEST(MemoryOwner, IsTheMachineOrTheGpu) {
  EXPECT_EQ(memory_owner(), "the machine");
  ops::name_compute_device({at::kCUDA, 1});
  EXPECT_EQ(memory_owner(), "cuda:1");
  ops::name_compute_device(at::kCPU);
}

}  // namespace
}  // namespace evenkeel::plan
