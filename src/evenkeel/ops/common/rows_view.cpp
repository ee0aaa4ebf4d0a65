// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/rows_view.h"

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

RowsView view_of_contiguous(const at::Tensor& x) {
  const auto width = width_of(x), rows = std::max<std::int64_t>(1, row_count(x));
  return {.tensor = x, .width = width, .run = rows, .stride = rows * width};
}

}  // namespace

RowsView rows_view(const at::Tensor& x) {
  const bool has_rows = x.numel() > 0 && x.dim() > 1 && x.stride(-1) == 1;
  if (x.is_contiguous() || !has_rows) return view_of_contiguous(x.contiguous());
  RowsView view = {.tensor = x, .width = width_of(x)};
  auto axis = x.dim() - 2;
  for (; axis >= 0 && x.stride(axis) == view.run * view.width; --axis) view.run *= x.size(axis);
  std::int64_t runs = 1;
  for (; axis >= 0; --axis) {
    if (x.size(axis) == 1) continue;
    if (runs == 1) view.stride = x.stride(axis);
    if (x.stride(axis) != runs * view.stride) return view_of_contiguous(x.contiguous());
    runs *= x.size(axis);
  }
  return view;
}

}  // namespace evenkeel::ops
