// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ops/zeros.h>

#include <cstdint>
#include <vector>

namespace evenkeel::comm::testing {

/// Values of a rank whose sum depends on the order of additions.
inline at::Tensor values_of(int rank, std::int64_t count, at::ScalarType dtype) {
  auto values = at::zeros({count}, at::kDouble);
  auto* const out = values.mutable_data_ptr<double>();
  std::uint64_t state = 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(rank + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out[i] =
        static_cast<double>(static_cast<std::int64_t>(state)) * (state % 8 == 0 ? 1e-15 : 1e-18);
  }
  return values.to(dtype);
}

/// The sum of all ranks in the tree of reduction_order.h.
inline at::Tensor tree_over_ranks(int ranks, std::int64_t count, at::ScalarType dtype) {
  std::vector<at::Tensor> rows;
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(values_of(rank, count, dtype));
  for (std::size_t stride = 1; stride < rows.size(); stride *= 2) {
    for (std::size_t i = 0; i + stride < rows.size(); i += 2 * stride)
      rows[i] = rows[i] + rows[i + stride];
  }
  return rows.front();
}

}  // namespace evenkeel::comm::testing
