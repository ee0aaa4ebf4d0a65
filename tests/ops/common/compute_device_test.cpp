// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/compute_device.h"

#include <gtest/gtest.h>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel {
namespace {

/// The message and the exit code of the error.
std::string refusal(const std::string& name) {
  try {
    ops::parse_device(name);
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), ' ', error.what());
  }
  return "";
}

TEST(ComputeDevice, IsTheProcessorWithoutAGpu) {
  EXPECT_TRUE(ops::parse_device("cpu").is_cpu());
  EXPECT_TRUE(ops::compute_device().is_cpu());
  EXPECT_EQ(ops::parse_device("auto").is_cpu(), ops::gpu_count() == 0);
}

TEST(ComputeDevice, RefusesOtherNames) {
  for (const char* const name :
       {"gpu", "", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1"}) {
    EXPECT_EQ(refusal(name),
              text("64 --device ", name, ": must be auto, cpu, cuda or cuda:N, with a number N"));
  }
}

TEST(ComputeDevice, RefusesAGpuThatIsNotThere) {
  if (ops::gpu_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  const auto message = refusal("cuda:0");
  if (ops::is_cuda_build()) {
    EXPECT_TRUE(message.starts_with("75 --device cuda:0: no GPU was found")) << message;
  } else {
    EXPECT_TRUE(message.starts_with("64 --device cuda:0: this program was built without CUDA"))
        << message;
  }
}

}  // namespace
}  // namespace evenkeel
