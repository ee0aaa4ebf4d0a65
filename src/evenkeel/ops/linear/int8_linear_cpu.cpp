// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdint>

#include "evenkeel/kernels/cpu/portable/int8_matmul.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/linear/int8_linear_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// int8_linear() of few rows of x, by int8_matmul().
/// \param y, x, values, scale  [n, rows], [n, columns], [rows, columns], [rows]; contiguous
template <typename T>
void multiply_int8(const Tensor& y, const Tensor& x, const Tensor& values, const Tensor& scale) {
  const auto rows = x.size(0), depth = x.size(1), columns = values.size(0);
  const auto integers = at::empty({rows, depth}, x.options().dtype(at::kShort));
  const auto scales = at::empty({rows}, x.options().dtype(at::kFloat));
  auto* const to = integers.mutable_data_ptr<std::int16_t>();
  auto* const x_scale = scales.mutable_data_ptr<float>();
  cpu::for_each_row(rows, [&](std::int64_t row) {
    x_scale[row] = kernels::cpu::quantize_to_int16(cpu::const_data<T>(x) + row * depth, depth,
                                                   to + row * depth);
  });
  const kernels::cpu::Int8Matmul<cpu::KernelType<T>> in{.x = to,
                                                        .x_scale = x_scale,
                                                        .w = values.const_data_ptr<std::int8_t>(),
                                                        .w_scale = scale.const_data_ptr<float>(),
                                                        .y = cpu::mutable_data<T>(y),
                                                        .rows = rows,
                                                        .depth = depth,
                                                        .w_stride = depth,
                                                        .y_stride = columns};
  // Blocks of 131,072 weights: some microseconds, after which another thread may go on.
  constexpr std::int64_t kWeights = 131072, kTile = 4;
  const auto size = std::max(kWeights / std::max<std::int64_t>(depth, 1) / kTile * kTile, kTile);
  cpu::for_each_block(columns, size, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    kernels::cpu::int8_matmul(in, begin, end);
  });
}

Tensor int8_linear_cpu(const Tensor& x, const Tensor& values, const Tensor& scale) {
  const auto y = empty_int8_result(x, values, scale);
  const auto rows = x.reshape({-1, x.size(-1)}).contiguous();
  const auto out = y.view({rows.size(0), values.size(0)});
  if (rows.size(0) > kFewRowsOfInt8 || x.scalar_type() == at::kDouble) {
    int8_linear_in_blocks(out, rows, {values, scale});
  } else if (x.scalar_type() == at::kFloat) {
    multiply_int8<float>(out, rows, values.contiguous(), scale.contiguous());
  } else {
    multiply_int8<at::BFloat16>(out, rows, values.contiguous(), scale.contiguous());
  }
  return y;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("int8_linear", int8_linear_cpu);
}

}  // namespace evenkeel::ops
