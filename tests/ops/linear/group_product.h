// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace evenkeel::testing {

/// dy^T x over the rows offsets[e] to offsets[e + 1] of group e, in float64: the gradient of the
/// group's weights.
inline at::Tensor group_product(const at::Tensor& dy, const at::Tensor& x,
                                const std::vector<std::int64_t>& offsets, std::int64_t e) {
  const auto begin = offsets[static_cast<std::size_t>(e)];
  const auto count = offsets[static_cast<std::size_t>(e) + 1] - begin;
  return dy.narrow(0, begin, count)
      .to(at::kDouble)
      .t()
      .matmul(x.narrow(0, begin, count).to(at::kDouble));
}

}  // namespace evenkeel::testing
