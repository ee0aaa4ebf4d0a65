// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace evenkeel::ops {

/// The rows of a tensor [..., D] in place: runs of adjacent rows, with one distance from run
/// to run. The heads of some columns of a matrix [B, T, columns] are such rows; copying them would
/// take as long as their norm.
struct RowsView {
  at::Tensor tensor;        // x, or its contiguous copy
  std::int64_t width = 0;   // D
  std::int64_t run = 1;     // rows of a run
  std::int64_t stride = 0;  // from run to run, in values

  /// Where a row begins, in values.
  std::int64_t offset(std::int64_t row) const { return row / run * stride + row % run * width; }

  /// Calls work(row, count) for adjacent rows until each of [begin, end) was in one call.
  template <typename Work>
  void for_each_run(std::int64_t begin, std::int64_t end, const Work& work) const {
    for (auto row = begin; row < end;) {
      const auto count = std::min(end - row, run - row % run);
      work(row, count);
      row += count;
    }
  }
};

/// The rows of x; of its contiguous copy if their places have another order.
/// \param x  [..., D]
RowsView rows_view(const at::Tensor& x);

}  // namespace evenkeel::ops
