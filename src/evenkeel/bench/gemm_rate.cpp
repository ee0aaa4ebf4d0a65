// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/gemm_rate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"

namespace evenkeel::bench {

std::vector<Arm> gemm_arms(const norm::Shape& shape, std::int64_t tokens, at::ScalarType dtype) {
  std::vector<Arm> arms;
  for (const auto& [out, in] :
       {std::pair(2 * shape.inner, shape.width), std::pair(shape.width, shape.inner),
        std::pair(shape.width, shape.width)}) {
    const auto x = at::randn({tokens, in}).to(ops::compute_device(), dtype);
    const auto w = at::randn({out, in}).to(ops::compute_device(), dtype);
    const auto flops = std::to_string(2 * tokens * out * in);
    arms.push_back({flops, [=] { at::linear(x, w); }});
    arms.push_back({flops, [=] { ops::deterministic_linear(x, w); }});
  }
  return arms;
}

double best_gemm_rate(const std::vector<Arm>& gemms) {
  double best = 0;
  const int calls = ops::compute_device().is_cuda() ? 20 : 1;  // a GPU works through a queue
  for (const auto& timing : interleaved_timings(gemms, 3, /*warmups=*/1, calls)) {
    best = std::max(best, std::stod(timing.name) / timing.least());
  }
  return best;
}

}  // namespace evenkeel::bench
