// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace evenkeel::testing {

using List = std::vector<std::int64_t>;

/// The values of a tensor of whole numbers, row after row.
inline List list_of(const at::Tensor& x) {
  const auto flat = x.contiguous();
  const auto* const first = flat.const_data_ptr<std::int64_t>();
  return {first, first + flat.numel()};
}

}  // namespace evenkeel::testing
