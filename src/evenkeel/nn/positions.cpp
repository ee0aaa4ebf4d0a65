// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/positions.h"

#include <ATen/ATen.h>

#include <tuple>

namespace evenkeel::nn {

Documents documents_of(const at::Tensor& ids, std::int64_t end, std::int64_t first,
                       const at::Tensor& begin) {
  const auto rows = ids.size(0), count = ids.size(1);
  const auto options = ids.options().dtype(at::kInt);
  const auto before = begin.defined() ? begin.unsqueeze(1) : at::zeros({rows, 1}, options);
  const auto behind = at::arange(first + 1, first + count + 1, options);
  const auto starts = at::where(ids == end, behind, at::zeros_like(behind));
  const auto latest = std::get<0>(at::cat({before, starts}, 1).cummax(1));  // [B, 1 + T]
  return {latest.narrow(1, 0, count).contiguous(), latest.select(1, count).contiguous()};
}

}  // namespace evenkeel::nn
