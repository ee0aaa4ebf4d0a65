// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/positions.h"

#include <ATen/ATen.h>

#include <tuple>

namespace evenkeel::nn {

DocumentStarts find_document_starts(const at::Tensor& ids, std::int64_t end, std::int64_t first,
                                    const at::Tensor& before) {
  const auto rows = ids.size(0), count = ids.size(1);
  const auto options = ids.options().dtype(at::kInt);
  const auto first_starts = before.defined() ? before.unsqueeze(1) : at::zeros({rows, 1}, options);
  const auto next_positions = at::arange(first + 1, first + count + 1, options);
  const auto starts = at::where(ids == end, next_positions, at::zeros_like(next_positions));
  const auto latest = std::get<0>(at::cat({first_starts, starts}, 1).cummax(1));  // [B, 1 + T]
  return {latest.narrow(1, 0, count).contiguous(), latest.select(1, count).contiguous()};
}

}  // namespace evenkeel::nn
