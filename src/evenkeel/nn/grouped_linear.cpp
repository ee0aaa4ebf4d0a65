// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/grouped_linear.h"

#include <ATen/ops/empty.h>

#include "evenkeel/ops/linear/grouped_linear.h"

namespace evenkeel::nn {

at::Tensor grouped_linear(const at::Tensor& x, const Weight& weight, const at::Tensor& offsets) {
  if (!weight.int8) {
    return ops::grouped_linear(x, weight.value, offsets, weight.gradient_buffer);
  }
  const auto& experts = *weight.int8;
  // Of all rows: the bits of a row then do not depend on the experts of the other rows.
  if (x.size(0) > ops::kFewRowsOfInt8) {
    return ops::grouped_linear(x, ops::dequantized(experts, x.scalar_type()), offsets);
  }
  const auto on_cpu = offsets.to(at::kCPU).contiguous();
  const auto* const bounds = on_cpu.const_data_ptr<std::int64_t>();
  const auto y = at::empty({x.size(0), experts.values.size(1)}, x.options());
  for (std::int64_t e = 0; e < experts.values.size(0); ++e) {
    const auto rows = bounds[e + 1] - bounds[e];
    if (rows == 0) continue;
    y.narrow(0, bounds[e], rows)
        .copy_(ops::int8_linear(x.narrow(0, bounds[e], rows), experts.select(e)));
  }
  return y;
}

}  // namespace evenkeel::nn
