// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "kernels/cuda_emulated/adapters.h"
#include "kernels/cuda_emulated/launch.h"

namespace {

/// The libraries that compute attention on a card do not run here.
void request_own_attention() {
  const auto backend = c10::Dispatcher::singleton().findSchema({"evenkeel::attention_backend", ""});
  if (backend) backend->typed<std::string(std::string)>().call("fused");
}

}  // namespace

// The tests of the operators (tests/ops), with the CUDA kernels in place of those for the CPU. With
// EVENKEEL_NOT_EMULATED in the environment, the same tests with the kernels for the CPU: what fails
// there, too, is no mistake of a CUDA kernel.
int main(int count, char** arguments) {
  evenkeel::emulated::poison_tensors();
  std::optional<evenkeel::emulated::EmulatedCuda> in_place_of_cpu_kernels(std::in_place);
  // The tests with several numbers of threads try several orders of blocks and threads instead.
  at::set_num_threads(1);
  evenkeel::emulated::card().order = &at::get_num_threads;
  request_own_attention();
  ::testing::InitGoogleTest(&count, arguments);
  if (std::getenv("EVENKEEL_NOT_EMULATED") != nullptr) in_place_of_cpu_kernels.reset();
  return RUN_ALL_TESTS();
}
