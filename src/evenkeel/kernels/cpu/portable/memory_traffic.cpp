// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/memory_traffic.h"

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

namespace {

template <int kReads, int kUpdates, int kWrites>
EK_CLONES void pass(const MemoryTraffic& traffic, std::int64_t begin, std::int64_t end) {
  const MemoryTraffic s = traffic;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    float sum = 1;
    for (int k = 0; k < kReads; ++k) sum += s.read[k][i];
    for (int k = 0; k < kUpdates; ++k) s.update[k][i] += sum;
    for (int k = 0; k < kWrites; ++k) s.write[k][i] = sum;
  }
}

struct Shape {
  int reads, updates, writes;
  void (*run)(const MemoryTraffic&, std::int64_t, std::int64_t);
};

constexpr Shape kShapes[] = {
    {1, 0, 1, pass<1, 0, 1>}, {2, 0, 1, pass<2, 0, 1>}, {2, 0, 2, pass<2, 0, 2>},
    {3, 0, 1, pass<3, 0, 1>}, {3, 0, 2, pass<3, 0, 2>}, {0, 3, 0, pass<0, 3, 0>},
    {1, 3, 0, pass<1, 3, 0>}, {1, 3, 1, pass<1, 3, 1>},
};

}  // namespace

void run_memory_traffic(const MemoryTraffic& traffic, std::int64_t begin, std::int64_t end) {
  for (const auto& shape : kShapes) {
    if (shape.reads == traffic.reads && shape.updates == traffic.updates &&
        shape.writes == traffic.writes) {
      return shape.run(traffic, begin, end);
    }
  }
  EK_ASSERT(!"memory traffic of an operator");
}

}  // namespace evenkeel::kernels::cpu
