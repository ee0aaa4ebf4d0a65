// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/buffers.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdint>
#include <memory>

#include "evenkeel/kernels/cpu/portable/memory_traffic.h"
#include "evenkeel/ops/common/compute_device.h"

namespace evenkeel::bench {

namespace {

/// A copy within the GPU that reads and writes `bytes` together.
std::function<void()> gpu_copy(double bytes) {
  const auto values = static_cast<std::int64_t>(bytes / 2) / 4;
  const auto options = at::TensorOptions(ops::compute_device()).dtype(at::kFloat);
  const auto buffers = std::make_shared<RotatingBuffers<Tensors>>(
      bytes, [=] { return Tensors{at::randn({values}, options), at::empty({values}, options)}; });
  return [=] {
    const auto& set = buffers->next();
    set[1].copy_(set[0]);
  };
}

}  // namespace

std::function<void()> bandwidth_probe(int reads, int updates, int writes, double bytes) {
  if (ops::compute_device().is_cuda()) return gpu_copy(bytes * (reads + 2 * updates + writes));
  const auto values = static_cast<std::int64_t>(bytes) / 4;
  const int streams = reads + updates + writes;
  const auto buffers = std::make_shared<RotatingBuffers<Tensors>>(bytes * streams, [=] {
    Tensors set;
    for (int i = 0; i < streams; ++i) set.push_back(at::zeros({values}, at::kFloat));
    return set;
  });
  return [=] {
    const auto& set = buffers->next();
    kernels::cpu::MemoryTraffic at{.reads = reads, .updates = updates, .writes = writes};
    std::size_t i = 0;
    for (int k = 0; k < reads; ++k) at.read[k] = set[i++].const_data_ptr<float>();
    for (int k = 0; k < updates; ++k) at.update[k] = set[i++].mutable_data_ptr<float>();
    for (int k = 0; k < writes; ++k) at.write[k] = set[i++].mutable_data_ptr<float>();
    constexpr std::int64_t kTask = 1 << 15;  // values per task
    at::parallel_for(0, values, kTask, [&](std::int64_t begin, std::int64_t end) {
      kernels::cpu::run_memory_traffic(at, begin, end);
    });
  };
}

std::function<void()> device_copy() {
  const auto from = at::zeros({kCopied}, at::kByte).to(ops::compute_device());
  return [from, to = at::empty_like(from)] { to.copy_(from); };
}

}  // namespace evenkeel::bench
