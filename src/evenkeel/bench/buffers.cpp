// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/buffers.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

namespace evenkeel::bench {

namespace {

constexpr double kCold = 256e6;  // bytes: more than the last cache of the machines we know

}  // namespace

Cycle::Cycle(double bytes, const std::function<Set()>& make) {
  const auto count = std::clamp(static_cast<int>(std::ceil(kCold / bytes)), 2, 32);
  for (int i = 0; i < count; ++i) sets_.push_back(make());
}

std::function<void()> probe_of(int reads, int updates, int writes, double bytes) {
  const auto values = static_cast<std::int64_t>(bytes) / 4;
  const int streams = reads + updates + writes;
  const auto cycle = std::make_shared<Cycle>(bytes * streams, [=] {
    Cycle::Set set;
    for (int i = 0; i < streams; ++i) set.push_back(at::zeros({values}, at::kFloat));
    return set;
  });
  return [=] {
    const auto& set = cycle->next();
    kernels::cpu::Streams at{.reads = reads, .updates = updates, .writes = writes};
    std::size_t i = 0;
    for (int k = 0; k < reads; ++k) at.read[k] = set[i++].const_data_ptr<float>();
    for (int k = 0; k < updates; ++k) at.update[k] = set[i++].mutable_data_ptr<float>();
    for (int k = 0; k < writes; ++k) at.write[k] = set[i++].mutable_data_ptr<float>();
    constexpr std::int64_t kTask = 1 << 15;  // values
    at::parallel_for(0, values, kTask, [&](std::int64_t begin, std::int64_t end) {
      kernels::cpu::pass_over(at, begin, end);
    });
  };
}

}  // namespace evenkeel::bench
