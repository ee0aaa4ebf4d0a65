// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/streams.h"

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/simd.h"

namespace evenkeel::kernels::cpu {

namespace {

template <int kReads, int kUpdates, int kWrites>
EK_CLONES void pass(const Streams& streams, std::int64_t begin, std::int64_t end) {
  const Streams s = streams;
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
  void (*run)(const Streams&, std::int64_t, std::int64_t);
};

constexpr Shape kShapes[] = {
    {1, 0, 0, pass<1, 0, 0>}, {1, 0, 1, pass<1, 0, 1>}, {2, 0, 1, pass<2, 0, 1>},
    {2, 0, 2, pass<2, 0, 2>}, {3, 0, 1, pass<3, 0, 1>}, {3, 0, 2, pass<3, 0, 2>},
    {0, 3, 0, pass<0, 3, 0>}, {1, 3, 0, pass<1, 3, 0>}, {1, 3, 1, pass<1, 3, 1>},
};

}  // namespace

void pass_over(const Streams& streams, std::int64_t begin, std::int64_t end) {
  for (const auto& shape : kShapes) {
    if (shape.reads == streams.reads && shape.updates == streams.updates &&
        shape.writes == streams.writes) {
      return shape.run(streams, begin, end);
    }
  }
  EK_ASSERT(!"streams of an operator");
}

}  // namespace evenkeel::kernels::cpu
